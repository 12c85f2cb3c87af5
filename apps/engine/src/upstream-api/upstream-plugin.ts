import { Readable } from "node:stream";
import type { Clock } from "@stackwright/base/clock";
import type { RateLimit } from "@stackwright/base/limiter";
import { type Authenticator, hasRole, isRegistryError } from "@stackwright/registry";
import type { BlobStore } from "@stackwright/storage/blob";
import { readAddress, signAddress, TfeError } from "@stackwright/tfe";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { authenticateToken } from "../api/authorize.ts";
import { CallerLimiter, retryAfterOf } from "../api/caller-limiter.ts";
import { SERVER_ERRORS, ServerError } from "../domain/server-error.ts";
import type { UpstreamMirror } from "../upstream/upstream-mirror.ts";

interface UpstreamPluginOptions {
  readonly mirror: UpstreamMirror;
  readonly blobs: BlobStore;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  /** Requests per caller. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Authenticates the addresses of packages, the same in all servers of the store. */
  readonly addressKey: () => Promise<Uint8Array>;
}

/** What a network mirror in a CLI configuration names. */
const MIRROR = "/terraform/v1/upstream";
const PACKAGES = "/terraform/v1/upstream-packages";
/** Commands send no token for packages: their addresses carry the permission, this long. */
const PACKAGE_LIFE_MS = 15 * 60_000;

interface PackageTarget {
  readonly account: string;
  readonly host: string;
  readonly namespace: string;
  readonly type: string;
  readonly version: string;
  readonly platform: string;
}

/** The network mirror protocol for providers of upstream registries, at the root of a server, for callers with a token. */
export async function upstreamPlugin(
  fastify: FastifyInstance,
  options: UpstreamPluginOptions,
): Promise<void> {
  const { mirror, blobs, clock, addressKey } = options;
  const hidden = { schema: { hide: true } } as object;
  const limiter = new CallerLimiter(options.rateLimit, clock);

  fastify.setErrorHandler(async (error, request, reply) => {
    const { status, message } = refusalOf(error);
    if (status >= 500) request.log.error({ err: error }, "a request failed");
    if (status === 429) reply.header("retry-after", retryAfterOf(error));
    if (status === 401) reply.header("www-authenticate", "Bearer");
    return sendJson(reply.code(status), { errors: [message] });
  });

  fastify.get<{ Params: { hostname: string; namespace: string; type: string; file: string } }>(
    `${MIRROR}/:hostname/:namespace/:type/:file`,
    hidden,
    async (request, reply) => {
      const account = await accountOf(request);
      const { hostname, namespace, type, file } = request.params;
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
        const target: PackageTarget = { account, host, namespace, type, version, platform };
        const name = `terraform-provider-${address.type}_${version}_${platform}.zip`;
        const url = `${PACKAGES}/${signAddress(key, target, expires)}/${name}`;
        return [platform, { url, hashes: found.hashes }] as const;
      });
      return sendJson(reply, { archives: Object.fromEntries(archives) });
    },
  );

  fastify.get<{ Params: { signed: string } }>(
    `${PACKAGES}/:signed/:name`,
    hidden,
    async (request, reply) => {
      const signed = readAddress(await addressKey(), request.params.signed, clock.wallMs());
      const { account, version, platform, ...provider } = signed as PackageTarget;
      const address = mirror.address(provider.host, provider.namespace, provider.type);
      if (address === undefined) throw noProvider();
      const { sha256, size } = await mirror.package(account, address, version, platform);
      reply
        .type("application/zip")
        .header("content-length", size)
        .header("cache-control", "private, no-transform");
      if (request.method === "HEAD") return reply.send(Readable.from([]));
      return reply.send(Readable.from(blobs.read(sha256), { objectMode: false }));
    },
  );

  async function accountOf(request: FastifyRequest): Promise<string> {
    const principal = await authenticateToken(options.authenticator, request);
    limiter.take(`${principal.account}\0${principal.actor}`);
    if (hasRole(principal, "reader")) return principal.account;
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
  return { status: 500, message: "internal error" };
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(JSON.stringify(body));
}
