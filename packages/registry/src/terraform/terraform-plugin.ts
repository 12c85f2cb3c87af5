import type { RateLimit } from "@stackwright/base/limiter";
import { type BridgeArchiveSource, ProviderSourceError } from "@stackwright/provider-source";
import type { CallOptions } from "@stackwright/storage";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Authenticator } from "../access/authenticator.ts";
import type { Principal } from "../access/principal.ts";
import { isRegistryError, RegistryError } from "../errors.ts";
import { AccountLimiter } from "../http/account-limiter.ts";
import { clientSignal } from "../http/client-signal.ts";
import { requireParamLength } from "../http/param-length.ts";
import { auditRefusal } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import { signableRequest } from "../http/signable.ts";
import type { Registry } from "../registry.ts";
import { serveFile } from "./file-route.ts";
import { type FileTarget, formatFileToken } from "./file-tokens.ts";
import { FunctionReleases } from "./function-releases.ts";
import { type OfferedProvider, ReleaseIndex } from "./release-index.ts";
import type { Release, ReleaseArchive } from "./releases.ts";
import { SigningKey } from "./signing-key.ts";

/** Options of {@link terraformPlugin}. */
export interface TerraformOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly region: string;
  /** Where archives of function-hosted providers come from; without it those cannot be installed. */
  readonly bridge?: BridgeArchiveSource | undefined;
  /** Hosts under which the mirror serves our namespaces, with port unless it is 443. @default [] */
  readonly mirrorHosts?: readonly string[] | undefined;
  /** Services that discovery names beside providers, such as `modules.v1`. @default none */
  readonly services?: Readonly<Record<string, unknown>> | undefined;
  /** How long the address of a file is valid. @default 15 minutes */
  readonly fileLifeMs?: number | undefined;
  /** Per account. @default none */
  readonly rateLimit?: RateLimit | undefined;
}

const PROVIDERS = "/terraform/v1/providers";
const MIRROR = "/terraform/v1/mirror";
const FILES = "/terraform/v1/files";
const JSON_TYPE = "application/json";
/** Longest path parameter: what a file's address carries. */
const PARAM_LENGTH = 1024;

/**
 * Terraform's protocols, at the root of a server: service discovery, the provider registry protocol and
 * the network mirror protocol, for published archives and for providers that live in functions. Files
 * have signed addresses that expire, as the command sends no credentials there.
 *
 * The instance has to allow path parameters of 1024 characters (`routerOptions.maxParamLength`). The discovery document
 * names `providers.v1`, and the services of the options.
 */
export async function terraformPlugin(
  fastify: FastifyInstance,
  options: TerraformOptions,
): Promise<void> {
  const { registry, authenticator, region, fileLifeMs = 15 * 60_000 } = options;
  requireParamLength(fastify, PARAM_LENGTH);
  const { clock } = registry.parts;
  const signingKey = new SigningKey(registry.secrets);
  const releases = new ReleaseIndex({
    registry,
    region,
    functions: options.bridge && new FunctionReleases(registry, options.bridge),
    mirrorHosts: options.mirrorHosts ?? [],
  });
  const limiter = new AccountLimiter(options.rateLimit, clock);
  const principals = new WeakMap<FastifyRequest, Principal>();
  const fileKey = (): Promise<Buffer> => registry.secrets.key("file-address");

  /** A credential that is sent has to be valid; requests without one are allowed. */
  async function authenticateRequest(request: FastifyRequest): Promise<Principal | undefined> {
    const { authorization, "x-auth-token": token } = request.headers;
    if (authorization === undefined && token === undefined) return undefined;
    const principal = await authenticator.authenticate(signableRequest(request));
    principals.set(request, principal);
    limiter.take(principal.account);
    return principal;
  }

  /** Path and name of a file, relative to this server. */
  async function fileAddress(target: FileTarget, filename: string): Promise<string> {
    const token = formatFileToken(await fileKey(), target, clock.wallMs() + fileLifeMs);
    return `${FILES}/${token}/${encodeURIComponent(filename)}`;
  }

  async function archiveAddress({ sha256, size, filename }: ReleaseArchive): Promise<string> {
    return fileAddress({ kind: "archive", sha256, size }, filename);
  }

  fastify.setErrorHandler(async (error, request, reply) => {
    const failure = terraformFailure(error);
    const principal = principals.get(request);
    if (failure.status >= 500) request.log.error({ err: error }, "a request failed");
    else request.log.info({ err: error, actor: principal?.actor }, "a request was refused");
    await auditRefusal(registry, region, request, principal, error);
    if (isRegistryError(error, "REGISTRY_RATE_LIMITED")) {
      reply.header("retry-after", Math.ceil((error.details.retryAfterMs ?? 1000) / 1000));
    }
    reply.header("x-request-id", request.id).code(failure.status).type(JSON_TYPE);
    return reply.send(JSON.stringify({ errors: [failure.message] }));
  });
  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
  });

  const document = (summary: string, description: string) => ({
    schema: describeRoute({ tags: ["terraform"], summary, description }),
  });

  fastify.get(
    "/.well-known/terraform.json",
    document("Service discovery", "Where the protocols are."),
    async (_request, reply) =>
      sendJson(reply, { ...options.services, "providers.v1": `${PROVIDERS}/` }),
  );

  fastify.get<{ Params: ProviderParams }>(
    `${PROVIDERS}/:namespace/:type/versions`,
    document("Versions of a provider", "Provider registry protocol."),
    async (request, reply) => {
      const options = { signal: clientSignal(reply) };
      const provider = await findProvider(request, options);
      const offered = await provider.versions(options);
      const warnings = offered
        .filter(({ deprecation }) => deprecation !== "")
        .map(({ version, deprecation }) => `${version}: ${deprecation}`);
      return sendJson(reply, {
        versions: offered.map(({ version, protocols, platforms }) => ({
          version,
          protocols,
          platforms: platforms.map(platformParts),
        })),
        warnings: warnings.length === 0 ? null : warnings,
      });
    },
  );

  fastify.get<{ Params: DownloadParams }>(
    `${PROVIDERS}/:namespace/:type/:version/download/:os/:arch`,
    document("Where to download a package", "Provider registry protocol."),
    async (request, reply) => {
      const { version, os, arch } = request.params;
      const options = { signal: clientSignal(reply) };
      const provider = await findProvider(request, options);
      const release = await releaseOf(provider, version, options);
      const archive = release.archives.find(({ platform }) => platform === `${os}_${arch}`);
      if (archive === undefined) {
        throw new RegistryError(
          "REGISTRY_NOT_FOUND",
          `${version} has no package for ${os}_${arch}`,
        );
      }
      const count = release.archives.length;
      const sums = archive.filename.replace(/_[a-z0-9]+_[a-z0-9]+\.zip$/, "_SHA256SUMS");
      const { key: releaseKey } = release;
      const list = { kind: "sums", release: releaseKey, count } as const;
      const signature = { kind: "signature", release: releaseKey, count } as const;
      const { keyId, asciiArmor } = await signingKey.publicKey();
      return sendJson(reply, {
        protocols: archive.protocols,
        os,
        arch,
        filename: archive.filename,
        download_url: await archiveAddress(archive),
        shasum: archive.sha256,
        shasums_url: await fileAddress(list, sums),
        shasums_signature_url: await fileAddress(signature, `${sums}.sig`),
        signing_keys: {
          gpg_public_keys: [
            {
              key_id: keyId,
              ascii_armor: asciiArmor,
              trust_signature: "",
              source: "",
              source_url: null,
            },
          ],
        },
      });
    },
  );

  fastify.get<{ Params: MirrorParams & { "*": string } }>(
    `${MIRROR}/:hostname/:namespace/:type/*`,
    document("Versions, or the packages of a version", "Network mirror protocol."),
    async (request, reply) => {
      const { hostname, namespace, type, "*": file } = request.params;
      const principal = await authenticateRequest(request);
      const options = { signal: clientSignal(reply) };
      const provider = await releases.findMirrored(hostname, namespace, type, principal, options);
      if (!file.endsWith(".json") || file.includes("/")) {
        throw new RegistryError("REGISTRY_NOT_FOUND");
      }
      const version = file.slice(0, -".json".length);
      if (version === "index") {
        const offered = await provider.versions(options);
        if (offered.length === 0) throw new RegistryError("REGISTRY_PROVIDER_NOT_FOUND");
        return sendJson(reply, {
          versions: Object.fromEntries(offered.map((found) => [found.version, {}])),
        });
      }
      const release = await releaseOf(provider, version, options);
      const archives = await Promise.all(
        release.archives.map(async (archive) => [
          archive.platform,
          {
            url: await archiveAddress(archive),
            hashes: [archive.h1, `zh:${archive.sha256}`],
          },
        ]),
      );
      return sendJson(reply, { archives: Object.fromEntries(archives) as object });
    },
  );

  fastify.get<{ Params: { token: string; filename: string } }>(
    `${FILES}/:token/:filename`,
    document("A file by its signed address", "Archives, lists of checksums, signatures."),
    async (request, reply) =>
      serveFile(request, reply, request.params.token, {
        registry,
        region,
        signingKey,
        key: fileKey,
      }),
  );

  async function findProvider(
    request: FastifyRequest<{ Params: ProviderParams }>,
    options: CallOptions,
  ): Promise<OfferedProvider> {
    const { namespace, type } = request.params;
    const principal = await authenticateRequest(request);
    return releases.find(namespace, type, principal, options);
  }
}

interface ProviderParams {
  namespace: string;
  type: string;
}

interface DownloadParams extends ProviderParams {
  version: string;
  os: string;
  arch: string;
}

interface MirrorParams extends ProviderParams {
  hostname: string;
}

async function releaseOf(
  provider: OfferedProvider,
  version: string,
  options: CallOptions,
): Promise<Release> {
  const release = await provider.recorded(version, options);
  if (release === undefined) throw new RegistryError("REGISTRY_VERSION_NOT_FOUND");
  if (!release.withdrawn) return release;
  // A lock file may name it: another status than for a version that never was, so that commands take it from no other place.
  const { withdrawnAtMs } = release;
  const at = withdrawnAtMs === 0 ? "" : ` at ${new Date(withdrawnAtMs).toISOString()}`;
  throw new RegistryError("REGISTRY_VERSION_WITHDRAWN", `version ${version} was withdrawn${at}`);
}

/** The command takes this type only; that of fastify is the same with a charset. */
function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.type(JSON_TYPE).header("cache-control", "no-store").send(JSON.stringify(body));
}

function platformParts(platform: string): { readonly os: string; readonly arch: string } {
  const [os = "", arch = ""] = platform.split("_");
  return { os, arch };
}

function terraformFailure(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof RegistryError && error.httpStatus < 500) {
    // A name that cannot exist does not exist.
    const status = error.code === "REGISTRY_INVALID_FIELD" ? 404 : error.httpStatus;
    return { status, message: error.message };
  }
  if (ProviderSourceError.is(error, "PROVIDER_SOURCE_BRIDGE_UNAVAILABLE")) {
    return { status: 503, message: error.message };
  }
  const status = (error as { statusCode?: unknown }).statusCode;
  if (typeof status === "number" && status >= 400 && status < 500) {
    return { status, message: "the request is not valid" };
  }
  return { status: 500, message: "internal error" };
}
