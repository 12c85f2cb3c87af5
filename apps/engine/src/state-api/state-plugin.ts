import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import { type NamedStack, StackDirectory } from "@stackwright/core";
import { type Authenticator, hasRole, type Principal, principalIn } from "@stackwright/registry";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { auditedParts } from "../access/change-entry.ts";
import { type AuditTrail, auditCaller } from "../access/registry-audit.ts";
import type { AccountPlaces } from "../api/account-places.ts";
import { checkProjectName, ProjectName, StackNameSchema } from "../api/api-parts.ts";
import { requireApiRole } from "../api/api-roles.ts";
import { authenticateToken, seesProject, seesStack } from "../api/authorize.ts";
import { answerProblem } from "../api/problem.ts";
import { readBytes } from "../api/read-body.ts";
import { compileRequestValidator } from "../api/validate-request.ts";
import { ServerError } from "../domain/server-error.ts";
import { addStack } from "../queue/add-stack.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { formatLockInfo, readLockInfo } from "../terraform-state/lock-info.ts";
import { serveState } from "../terraform-state/served-state.ts";
import {
  MAX_STATE_BYTES,
  type StateContentParts,
  storeStateContent,
} from "../terraform-state/state-content.ts";
import { breakLock, LockHeldError, lockState, unlockState } from "../terraform-state/state-lock.ts";
import { addStateVersion, deleteState } from "../terraform-state/state-versions.ts";
import { timedUpload, uploadSignal } from "../timed-upload.ts";

interface StatePluginOptions extends TransactionParts, StateContentParts {
  readonly authenticator: Authenticator;
  /** Requests per credential. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Places for states that commands upload. */
  readonly places: AccountPlaces;
  /** Where changes and refused callers are noted. Locks are not, as each command has one. */
  readonly audit: AuditTrail;
}

const Address = Type.Object({
  account: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
  project: ProjectName,
  stack: StackNameSchema,
});
const LockQuery = Type.Object({ ID: Type.Optional(Type.String({ maxLength: 128 })) });
type AtAddress = { Params: Static<typeof Address>; Querystring: Static<typeof LockQuery> };

const RATE_LIMIT: RateLimit = Object.freeze({ perSecond: 200, burst: 2_000 });
/** Bytes of a lock. */
const LOCK_LIMIT = 64 * 1024;

/**
 * The server as `http` backend of terraform and tofu commands, to be registered under `/state/v1`: `/ACCOUNT/PROJECT/STACK` is
 * `address`, `lock_address` and `unlock_address` at once. The caller has a token, as the password of Basic or as Bearer, and is
 * authenticated before any part of a body is read.
 *
 * A command takes 404 for "no state yet", and would create everything again: so all else that is not found is refused otherwise.
 */
export async function statePlugin(
  fastify: FastifyInstance,
  options: StatePluginOptions,
): Promise<void> {
  const { storage, clock, places } = options;
  const stacks = new StackDirectory({ storage });
  const principals = new WeakMap<FastifyRequest, Principal>();
  const limiter = new KeyedRateLimiter(options.rateLimit ?? RATE_LIMIT, () => clock.monotonicMs());
  for (const method of ["LOCK", "UNLOCK"]) fastify.addHttpMethod(method, { hasBody: true });
  fastify.setValidatorCompiler(compileRequestValidator);
  fastify.setErrorHandler(async (error, request, reply) => answerError(request, reply, error));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  fastify.addHook("onSend", async (_request, reply) => {
    if (reply.statusCode === 401) reply.header("www-authenticate", 'Basic realm="stackwright"');
  });
  const recognize = async (request: FastifyRequest): Promise<Principal> => {
    const { authorization = "" } = request.headers;
    const bearer = bearerOf(authorization);
    const principal = await authenticateToken(options.authenticator, request, bearer);
    principals.set(request, principal);
    return principal;
  };
  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const principal = await recognize(request);
    const retryAfterMs = limiter.take(`${principal.account}\0${principal.actor}`);
    if (retryAfterMs > 0) {
      throw new ServerError("rate_limited", "the credential makes too many requests", {
        retryAfterMs,
      });
    }
  });

  /** What the server works with for one change, whose entry is written with it. */
  const audited = (request: FastifyRequest<AtAddress>, action: string): StatePluginOptions => {
    const { project, stack } = request.params;
    const caller = auditCaller(request, callerOf(request));
    return auditedParts(options, caller, { action, target: `projects/${project}/stacks/${stack}` });
  };
  // Before the answer, so that who has it finds the entry.
  fastify.addHook("onSend", async (request, reply) => {
    const { statusCode: status } = reply;
    if (status !== 401 && status !== 403) return;
    const target = (request.raw.url ?? "").split("?", 1)[0]?.slice(1, 257) ?? "";
    const facts = { action: "State", target, outcome: `HTTP_${status}` };
    await options.audit.note(request, principals.get(request), facts);
  });

  /** The caller, if the address is one of its account and of a project that it sees. */
  const callerOf = (request: FastifyRequest<AtAddress>): Principal => {
    const principal = principals.get(request);
    if (principal === undefined) throw new ServerError("unauthenticated");
    const { account, project, stack } = request.params;
    const there = account === principal.account ? principalIn(principal, project) : undefined;
    if (there === undefined || !seesProject(there, project)) {
      throw new ServerError("forbidden", `the credential is not for ${account}/${project}`);
    }
    if (!seesStack(there, project, stack)) {
      throw new ServerError("forbidden", `the credential is not for the stack "${stack}"`);
    }
    requireApiRole(there, "operator");
    return there;
  };
  /** The caller, judged again when all of its request is there: that may be an hour later, and rights be taken away meanwhile. */
  const callerAtEnd = async (request: FastifyRequest<AtAddress>): Promise<Principal> => {
    await recognize(request);
    return callerOf(request);
  };
  async function* uploadOf(request: FastifyRequest<AtAddress>): AsyncGenerator<Uint8Array> {
    for await (const chunk of request.raw as AsyncIterable<Uint8Array>) yield chunk;
    await callerAtEnd(request);
  }
  const findStack = async (request: FastifyRequest<AtAddress>): Promise<NamedStack | undefined> => {
    const { account, project, stack } = request.params;
    checkProjectName(project);
    return stacks.find({ account, project }, stack);
  };
  /** The first command at an address creates its stack. */
  const ensureStack = async (request: FastifyRequest<AtAddress>): Promise<NamedStack> => {
    const principal = callerOf(request);
    const found = await findStack(request);
    if (found !== undefined) return found;
    const { account, project, stack } = request.params;
    if (!hasRole(principal, "admin")) {
      throw new ServerError(
        "forbidden",
        `there is no stack "${stack}" in ${project}; creating it needs the role registry:admin`,
      );
    }
    const made = await transact(options, async (tx) => addStack(tx, { account, project }, stack));
    const known = made ?? (await findStack(request));
    if (known !== undefined) return known;
    throw new ServerError("conflict", `the stack "${stack}" was deleted meanwhile; try again`);
  };

  const config = { access: "operator" } as const;
  const upload = { access: "operator", upload: true } as const;
  const schema = { hide: true, params: Address } as const;
  const address = "/:account/:project/:stack";
  const lockAddress = `${address}/lock`;

  fastify.get<AtAddress>(
    address,
    { schema, config, exposeHeadRoute: false },
    async (request, reply) => {
      callerOf(request);
      const stack = await findStack(request);
      const state = stack && (await serveState(options, stack));
      if (state === undefined) throw new ServerError("not_found", "the stack has no state");
      reply.headers({
        "content-type": "application/json",
        "content-length": state.bytes,
        "content-md5": Buffer.from(state.md5, "hex").toString("base64"),
      });
      return reply.send(Readable.from(state.content, { objectMode: false }));
    },
  );

  fastify.route<AtAddress>({
    method: ["POST", "PUT"],
    url: address,
    schema: { ...schema, querystring: LockQuery },
    config: upload,
    handler: async (request, reply) => {
      const { account, actor } = callerOf(request);
      const md5 = contentMd5Of(request);
      using _place = places.take(account);
      const stack = await ensureStack(request);
      const signal = uploadSignal(request.raw);
      const bounds = { clock, signal, maxBytes: MAX_STATE_BYTES, what: "a state" };
      const content = await storeStateContent(options, {
        stack: stack.reference,
        content: timedUpload(uploadOf(request), bounds),
        md5,
        signal,
      });
      const version = await addStateVersion(audited(request, "StoreState"), {
        stack,
        actor,
        content,
        lockId: lockIdOf(request),
      });
      if (version.lineageChanged) {
        const { number, lineage } = version;
        request.log.warn(
          { stack: stack.name, number: Number(number), actor, lineage },
          "the lineage of a state changed",
        );
      }
      return await reply.code(200).send();
    },
  });

  fastify.delete<AtAddress>(
    address,
    { schema: { ...schema, querystring: LockQuery }, config },
    async (request, reply) => {
      const { actor } = callerOf(request);
      const stack = await findStack(request);
      if (stack !== undefined) {
        await deleteState(audited(request, "DeleteState"), { stack, lockId: lockIdOf(request) });
        request.log.warn({ stack: stack.name, actor }, "a state was deleted");
      }
      return reply.code(200).send();
    },
  );

  const lock = async (request: FastifyRequest<AtAddress>, reply: FastifyReply): Promise<void> => {
    callerOf(request);
    const body = await readChecked(request);
    const { actor } = await callerAtEnd(request);
    await lockState(options, await ensureStack(request), { actor, lock: readLockInfo(body) });
    return reply.code(200).send();
  };
  const unlock = async (request: FastifyRequest<AtAddress>, reply: FastifyReply): Promise<void> => {
    callerOf(request);
    const body = await readChecked(request);
    const principal = await callerAtEnd(request);
    const stack = await findStack(request);
    if (stack === undefined) return reply.code(200).send();
    if (body.byteLength > 0) {
      await unlockState(options, stack.reference, readLockInfo(body).id);
      return reply.code(200).send();
    }
    const { actor } = principal;
    const force = hasRole(principal, "admin");
    const broken = await breakLock(audited(request, "BreakLock"), stack.reference, {
      actor,
      force,
    });
    if (broken !== undefined) {
      const { actor: holder, reason } = broken;
      request.log.warn({ stack: stack.name, actor, holder, reason }, "a lock was broken");
    }
    return reply.code(200).send();
  };
  fastify.route<AtAddress>({ method: "LOCK", url: address, schema, config, handler: lock });
  fastify.route<AtAddress>({ method: "UNLOCK", url: address, schema, config, handler: unlock });
  // `lock_method` and `unlock_method` of backends that know no others.
  fastify.route<AtAddress>({
    method: ["LOCK", "PUT", "POST"],
    url: lockAddress,
    schema,
    config,
    handler: lock,
  });
  fastify.route<AtAddress>({
    method: ["UNLOCK", "DELETE"],
    url: lockAddress,
    schema,
    config,
    handler: unlock,
  });
}

/** The token of Basic is the password; the name of the user is free. */
function bearerOf(authorization: string): string | undefined {
  const [, basic] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization) ?? [];
  if (basic === undefined) return undefined;
  const text = Buffer.from(basic, "base64").toString("utf8");
  return `Bearer ${text.slice(text.indexOf(":") + 1)}`;
}

function lockIdOf({ query: { ID } }: FastifyRequest<AtAddress>): string | undefined {
  return ID === undefined || ID === "" ? undefined : ID;
}

/** The MD5 that a body has to have, in hexadecimal. */
function contentMd5Of({ headers }: FastifyRequest): string | undefined {
  const { "content-md5": given } = headers;
  if (given === undefined) return undefined;
  const digest = Buffer.from(String(given), "base64");
  if (digest.byteLength === 16) return digest.toString("hex");
  throw new ServerError("invalid_request", "Content-MD5 is not an MD5 in base64");
}

async function readChecked(request: FastifyRequest): Promise<Buffer> {
  const expected = contentMd5Of(request);
  const body = await readBytes(request, LOCK_LIMIT);
  const actual = createHash("md5").update(body).digest("hex");
  if (expected === undefined || expected === actual) return body;
  throw new ServerError("invalid_request", "the body does not have the MD5 of Content-MD5");
}

function answerError(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof LockHeldError) {
    if (!request.raw.complete) reply.header("connection", "close");
    return reply.code(423).type("application/json").send(formatLockInfo(error.holder));
  }
  return answerProblem(request, reply, error);
}
