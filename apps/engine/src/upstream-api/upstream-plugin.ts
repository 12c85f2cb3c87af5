import { Readable } from "node:stream";
import type { Clock } from "@stackwright/base/clock";
import type { RateLimit } from "@stackwright/base/limiter";
import { isStrictVersion } from "@stackwright/provider-source";
import {
  type Authenticator,
  type CredentialStore,
  hasRole,
  isRegistryError,
  type Principal,
} from "@stackwright/registry";
import type { BlobStore } from "@stackwright/storage/blob";
import { readAddress, signAddress, TfeError } from "@stackwright/tfe";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AddressSigner, findSigner, signerOf } from "../access/address-signer.ts";
import { authenticateToken } from "../api/authorize.ts";
import { CallerLimiter, retryAfterOf } from "../api/caller-limiter.ts";
import { serverErrorOf } from "../api/problem.ts";
import { SERVER_ERRORS, ServerError } from "../domain/server-error.ts";
import { readHeld } from "../upstream/read-held.ts";
import type { UpstreamMirror } from "../upstream/upstream-mirror.ts";
import type { UpstreamNamespace } from "../upstream/upstream-names.ts";

interface UpstreamPluginOptions {
  readonly mirror: UpstreamMirror;
  readonly blobs: BlobStore;
  readonly authenticator: Authenticator;
  /** Says what the credential may do now that an address was made for. */
  readonly credentials: Pick<CredentialStore, "principalOf">;
  readonly clock: Clock;
  /** Requests per caller. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Authenticates the addresses of packages, the same in all servers of the store. */
  readonly addressKey: () => Promise<Uint8Array>;
  /** Namespaces of this server whose providers are those of upstream registries. @default none */
  readonly namespaces?: ReadonlyMap<string, UpstreamNamespace> | undefined;
  /** Hosts under which the network mirror of this server has its namespaces. @default none */
  readonly mirrorHosts?: readonly string[] | undefined;
}

/** What a network mirror in a CLI configuration names. */
const MIRROR = "/terraform/v1/upstream";
/** What a block `host` in a CLI configuration names, with the host behind it. */
const PROVIDERS = "/terraform/v1/upstream-providers";
/** The provider registry of this server, and its network mirror. */
const OWN_PROVIDERS = "/terraform/v1/providers";
const OWN_MIRROR = "/terraform/v1/mirror";
const PACKAGES = "/terraform/v1/upstream-packages";
/** Commands send no token for packages: their addresses carry the permission, this long, and as long as the token of the request has it. */
const PACKAGE_LIFE_MS = 15 * 60_000;

interface PackageTarget extends AddressSigner {
  readonly account: string;
  readonly host: string;
  readonly namespace: string;
  readonly type: string;
  readonly version: string;
  readonly platform: string;
  /** The list of checksums or its signature instead of the package. */
  readonly part?: "sums" | "signature";
}

interface ProviderParams {
  hostname: string;
  namespace: string;
  type: string;
}

interface MirrorParams extends ProviderParams {
  file: string;
}

interface DownloadParams extends ProviderParams {
  version: string;
  os: string;
  arch: string;
}

/**
 * The network mirror protocol and the provider registry protocol for providers of upstream registries, at the root of a server,
 * for callers with a token.
 */
export async function upstreamPlugin(
  fastify: FastifyInstance,
  options: UpstreamPluginOptions,
): Promise<void> {
  const { mirror, blobs, clock, addressKey, mirrorHosts = [] } = options;
  const hidden = { schema: { hide: true } } as object;
  const limiter = new CallerLimiter(options.rateLimit, clock);

  fastify.setErrorHandler(async (error, request, reply) => {
    const { status, message } = refusalOf(error);
    if (status >= 500) request.log.error({ err: error }, "a request failed");
    if (status === 429) reply.header("retry-after", retryAfterOf(error));
    if (status === 401) reply.header("www-authenticate", "Bearer");
    return sendJson(reply.code(status), { errors: [message] });
  });

  const mirrored = async (request: FastifyRequest, reply: FastifyReply, place: MirrorParams) => {
    const { account, signer } = await callerOf(request);
    const { hostname, namespace, type, file } = place;
    const address = mirror.address(hostname, namespace, type);
    if (address === undefined || !file.endsWith(".json")) throw noProvider();
    const version = file.slice(0, -".json".length);
    if (version === "index") {
      const releases = await mirror.releases(account, address);
      return sendJson(reply, {
        versions: Object.fromEntries(releases.map((one) => [one.version, {}])),
      });
    }
    const found = await mirror.version(account, address, version);
    const key = await addressKey();
    const expires = clock.wallMs() + PACKAGE_LIFE_MS;
    const { host } = address;
    const archives = found.platforms.map((platform) => {
      const target = { ...signer, account, host, namespace, type, version, platform };
      const name = `terraform-provider-${address.type}_${version}_${platform}.zip`;
      const url = `${PACKAGES}/${signAddress(key, target, expires)}/${name}`;
      return [platform, { url, hashes: found.hashes }] as const;
    });
    return sendJson(reply, { archives: Object.fromEntries(archives) });
  };

  const versions = async (request: FastifyRequest, reply: FastifyReply, place: ProviderParams) => {
    const { account } = await callerOf(request);
    const { hostname, namespace, type } = place;
    const address = mirror.address(hostname, namespace, type);
    if (address === undefined) throw noProvider();
    const releases = await mirror.releases(account, address);
    return sendJson(reply, {
      versions: releases.map(({ version, protocols, platforms }) => ({
        version,
        protocols,
        platforms: platforms.map((platform) => {
          const [os, arch] = platform.split("_");
          return { os, arch };
        }),
      })),
      warnings: null,
    });
  };

  const download = async (request: FastifyRequest, reply: FastifyReply, place: DownloadParams) => {
    const { account, signer } = await callerOf(request);
    const { hostname, namespace, type, version, os, arch } = place;
    const address = mirror.address(hostname, namespace, type);
    const platform = `${os}_${arch}`;
    if (address === undefined) throw noProvider();
    if (!isStrictVersion(version) || !/^[a-z0-9]{1,20}_[a-z0-9]{1,20}$/.test(platform)) {
      throw new ServerError("not_found", `there is no version ${version} for ${platform}`);
    }
    const found = await mirror.download(account, address, version, platform);
    const key = await addressKey();
    const expires = clock.wallMs() + PACKAGE_LIFE_MS;
    const target: PackageTarget = {
      ...signer,
      account,
      host: address.host,
      namespace,
      type,
      version,
      platform,
    };
    const addressOf = (name: string, part?: "sums" | "signature") =>
      `${PACKAGES}/${signAddress(key, { ...target, ...(part && { part }) }, expires)}/${encodeURIComponent(name)}`;
    const sums = `terraform-provider-${address.type}_${version}_SHA256SUMS`;
    return sendJson(reply, {
      protocols: found.protocols,
      os,
      arch,
      filename: found.filename,
      download_url: addressOf(found.filename),
      shasum: found.sha256,
      shasums_url: addressOf(sums, "sums"),
      shasums_signature_url: addressOf(`${sums}.sig`, "signature"),
      signing_keys: {
        gpg_public_keys: found.signingKeys.map((one) => ({
          key_id: one.keyId,
          ascii_armor: one.asciiArmor,
          trust_signature: one.trustSignature,
          source: one.source,
          source_url: one.sourceUrl === "" ? null : one.sourceUrl,
        })),
      },
    });
  };

  fastify.get<{ Params: MirrorParams }>(
    `${MIRROR}/:hostname/:namespace/:type/:file`,
    hidden,
    async (request, reply) => mirrored(request, reply, request.params),
  );
  fastify.get<{ Params: ProviderParams }>(
    `${PROVIDERS}/:hostname/:namespace/:type/versions`,
    hidden,
    async (request, reply) => versions(request, reply, request.params),
  );
  fastify.get<{ Params: DownloadParams }>(
    `${PROVIDERS}/:hostname/:namespace/:type/:version/download/:os/:arch`,
    hidden,
    async (request, reply) => download(request, reply, request.params),
  );
  // Before those of the server's own registry, which have a parameter in that place.
  for (const [name, { host: hostname, namespace }] of options.namespaces ?? []) {
    const place = { hostname, namespace };
    fastify.get<{ Params: ProviderParams }>(
      `${OWN_PROVIDERS}/${name}/:type/versions`,
      hidden,
      async (request, reply) => versions(request, reply, { ...request.params, ...place }),
    );
    fastify.get<{ Params: DownloadParams }>(
      `${OWN_PROVIDERS}/${name}/:type/:version/download/:os/:arch`,
      hidden,
      async (request, reply) => download(request, reply, { ...request.params, ...place }),
    );
    fastify.get<{ Params: MirrorParams }>(
      `${OWN_MIRROR}/:hostname/${name}/:type/:file`,
      hidden,
      async (request, reply) => {
        if (!mirrorHosts.includes(request.params.hostname)) throw noProvider();
        return mirrored(request, reply, { ...request.params, ...place });
      },
    );
  }

  fastify.get<{ Params: { signed: string } }>(
    `${PACKAGES}/:signed/:name`,
    hidden,
    async (request, reply) => {
      const signed = readAddress(await addressKey(), request.params.signed, clock.wallMs());
      await requireSigner(signed as PackageTarget);
      const { account, version, platform, part, ...provider } = signed as PackageTarget;
      const address = mirror.address(provider.host, provider.namespace, provider.type);
      if (address === undefined) throw noProvider();
      reply.header("cache-control", "private, no-transform");
      if (part !== undefined) {
        const found = await mirror.download(account, address, version, platform);
        const bytes = part === "sums" ? found.checksums : found.signature;
        return reply.type("application/octet-stream").send(Buffer.from(bytes));
      }
      const { sha256, size } = await mirror.package(account, address, version, platform);
      reply.type("application/zip").header("content-length", size);
      if (request.method === "HEAD") return reply.send(Readable.from([]));
      return reply.send(Readable.from(readHeld(blobs, sha256, clock), { objectMode: false }));
    },
  );

  async function callerOf(request: FastifyRequest) {
    const principal = await authenticateToken(options.authenticator, request);
    admit(principal);
    return { account: principal.account, signer: signerOf(principal) };
  }

  /** Refuses an address whose credential has ended, or may not read providers any more. */
  async function requireSigner(target: PackageTarget): Promise<void> {
    const signer = await findSigner(options.credentials, target);
    if (signer === undefined) {
      throw new ServerError("forbidden", "the credential that the address was made for has ended");
    }
    if (signer !== "unknown") admit(signer);
  }

  function admit(principal: Principal): void {
    limiter.take(`${principal.account}\0${principal.actor}`);
    if (hasRole(principal, "reader")) return;
    throw new ServerError("forbidden", "the credential needs the role viewer");
  }
}

function noProvider(): ServerError {
  return new ServerError("not_found", "the mirror is not for this provider");
}

function refusalOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ServerError) {
    return { status: SERVER_ERRORS[error.code].httpStatus ?? 500, message: error.message };
  }
  if (error instanceof TfeError) return { status: error.httpStatus, message: error.message };
  if (isRegistryError(error) && error.httpStatus < 500) {
    return { status: error.httpStatus, message: error.message };
  }
  // Of the store, such as that the account has no room for a package.
  const { code, message } = serverErrorOf(error);
  if (code !== "internal") return { status: SERVER_ERRORS[code].httpStatus ?? 500, message };
  return { status: 500, message: "internal error" };
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(JSON.stringify(body));
}
