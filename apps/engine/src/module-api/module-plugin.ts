import { Readable } from "node:stream";
import type { Clock } from "@stackwright/base/clock";
import type { RateLimit } from "@stackwright/base/limiter";
import {
  type Authenticator,
  type CredentialStore,
  hasRole,
  isRegistryError,
  type Principal,
} from "@stackwright/registry";
import type { StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { readAddress, signAddress, TfeError } from "@stackwright/tfe";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AddressSigner, findSigner, signerOf } from "../access/address-signer.ts";
import { authenticateToken } from "../api/authorize.ts";
import { CallerLimiter, retryAfterOf } from "../api/caller-limiter.ts";
import {
  MODULE_PART,
  MODULE_SYSTEM,
  type ModuleName,
  moduleNameText,
} from "../modules/module-name.ts";
import { moduleVersions } from "../modules/module-versions.ts";

interface ModulePluginOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly authenticator: Authenticator;
  /** Says what the credential may do now that an address was made for. */
  readonly credentials: Pick<CredentialStore, "principalOf">;
  readonly clock: Clock;
  /** Requests per caller. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Authenticates the addresses of archives, the same in all servers of the store. */
  readonly addressKey: () => Promise<Uint8Array>;
}

/** Where service discovery says that modules are. */
export const MODULES_PREFIX = "/terraform/v1/modules";
const ARCHIVES = "/terraform/v1/module-archives";
/** Commands send no token for archives: their addresses carry the permission, this long, and as long as the token of the request has it. */
const ARCHIVE_LIFE_MS = 15 * 60_000;

interface OfModule {
  Params: ModuleName;
}

interface ArchiveTarget extends AddressSigner {
  readonly sha256: string;
  readonly size: number;
}

/**
 * The module registry protocol for the private modules of the caller's account, at the root of a server. Without a token there are none:
 * that is 401, and what an account does not have is 404.
 */
export async function modulePlugin(
  fastify: FastifyInstance,
  options: ModulePluginOptions,
): Promise<void> {
  const { storage, blobs, clock, addressKey } = options;
  const hidden = { schema: { hide: true } } as object;
  const limiter = new CallerLimiter(options.rateLimit, clock);

  fastify.setErrorHandler(async (error, request, reply) => {
    const refusal = refusalOf(error);
    if (refusal === undefined) request.log.error({ err: error }, "a request failed");
    const { status, message } = refusal ?? { status: 500, message: "internal error" };
    if (status === 429) reply.header("retry-after", retryAfterOf(error));
    if (status === 401) reply.header("www-authenticate", "Bearer");
    return sendJson(reply.code(status), { errors: [message] });
  });

  fastify.get<OfModule>(
    `${MODULES_PREFIX}/:namespace/:name/:system/versions`,
    hidden,
    async (request, reply) => {
      const { versions } = await offered(request);
      return sendJson(reply, {
        modules: [{ versions: versions.map(({ version }) => ({ version })) }],
      });
    },
  );

  fastify.get<{ Params: ModuleName & { version: string } }>(
    `${MODULES_PREFIX}/:namespace/:name/:system/:version/download`,
    hidden,
    async (request, reply) => {
      const { principal, module, versions, withdrawn } = await offered(request);
      const { version } = request.params;
      const found = versions.find((one) => one.version === version);
      if (found === undefined) {
        const gone = withdrawn.find((one) => one.version === version);
        if (gone === undefined) throw new Refusal(404, `there is no version ${version}`);
        const why = gone.withdrawnReason === "" ? "" : `: ${gone.withdrawnReason}`;
        throw new Refusal(410, `version ${version} was withdrawn${why}`);
      }
      const target: ArchiveTarget = {
        sha256: found.archiveSha256,
        size: Number(found.archiveBytes),
        ...signerOf(principal),
      };
      const signed = signAddress(await addressKey(), target, clock.wallMs() + ARCHIVE_LIFE_MS);
      // The name says how it is unpacked; the command compares the checksum.
      const file = `${module.name}-${version}.tar.gz`;
      const location = `${ARCHIVES}/${signed}/${file}?archive=tar.gz&checksum=sha256:${target.sha256}`;
      reply.header("x-terraform-get", location).header("cache-control", "no-store");
      // A body is read by OpenTofu alone.
      const { "user-agent": agent = "" } = request.headers;
      return /^OpenTofu/i.test(agent) ? sendJson(reply, { location }) : reply.code(204).send();
    },
  );

  fastify.get<{ Params: { signed: string } }>(
    `${ARCHIVES}/:signed/:file`,
    hidden,
    async (request, reply) => {
      const key = await addressKey();
      const target = readAddress(key, request.params.signed, clock.wallMs()) as ArchiveTarget;
      await requireSigner(target);
      const { sha256, size } = target;
      reply
        .type("application/gzip")
        .header("content-length", size)
        .header("cache-control", "private, no-transform");
      if (request.method === "HEAD") return reply.send(Readable.from([]));
      return reply.send(Readable.from(blobs.read(sha256), { objectMode: false }));
    },
  );

  /** Refuses an address whose credential has ended, or may not read modules any more. */
  async function requireSigner(target: ArchiveTarget): Promise<void> {
    const signer = await findSigner(options.credentials, target);
    if (signer === undefined) {
      throw new Refusal(403, "the credential that the address was made for has ended");
    }
    if (signer !== "unknown") admit(signer);
  }

  function admit(principal: Principal): void {
    limiter.take(`${principal.account}\0${principal.actor}`);
    if (hasRole(principal, "reader")) return;
    throw new Refusal(403, "the credential needs the role registry:reader");
  }

  /** The versions of the module of a request that its sender may have. */
  async function offered(request: FastifyRequest<OfModule>) {
    const principal: Principal = await authenticateToken(options.authenticator, request);
    admit(principal);
    const { namespace, name, system } = request.params;
    const module = { namespace, name, system };
    const isPossible =
      new RegExp(MODULE_PART).test(namespace) &&
      new RegExp(MODULE_PART).test(name) &&
      new RegExp(MODULE_SYSTEM).test(system);
    const all = isPossible ? await moduleVersions(storage, principal.account, module) : [];
    if (all.length === 0) throw new Refusal(404, `there is no module "${moduleNameText(module)}"`);
    return {
      principal,
      module,
      versions: all.filter(({ withdrawnAtMs }) => withdrawnAtMs === 0n),
      withdrawn: all.filter(({ withdrawnAtMs }) => withdrawnAtMs !== 0n),
    };
  }
}

/** An answer that is no success. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function refusalOf(
  error: unknown,
): { readonly status: number; readonly message: string } | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof TfeError) return { status: 403, message: error.message };
  if (isRegistryError(error) && error.httpStatus < 500) {
    return { status: error.httpStatus, message: error.message };
  }
  const { code } = error as { code?: unknown };
  if (code === "unauthenticated") return { status: 401, message: (error as Error).message };
  if (code === "rate_limited") return { status: 429, message: (error as Error).message };
  return undefined;
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(JSON.stringify(body));
}
