import { isAccountAdmin, type Principal } from "@stackwright/registry";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { auditTargetOf } from "../access/audit-target.ts";
import { ChangeEntry } from "../access/change-entry.ts";
import { forgetRights } from "../access/forget-rights.ts";
import { auditCaller } from "../access/registry-audit.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import type { RunClaim } from "../queue/claim.ts";
import { findClaim, isRunToken } from "../queue/run-token.ts";
import { type TransactionParts, together } from "../queue/transaction.ts";
import { identityRoutes } from "./access/identity-routes.ts";
import { roleRoutes } from "./access/role-routes.ts";
import { sessionRoutes } from "./access/session-routes.ts";
import { teamRoutes } from "./access/team-routes.ts";
import { tokenRoutes } from "./access/token-routes.ts";
import { userRoutes } from "./access/user-routes.ts";
import { accountRoutes } from "./accounts/account-routes.ts";
import type { ApiOptions, ApiParts } from "./api-parts.ts";
import type { ApiRole } from "./api-roles.ts";
import { auditRoutes } from "./audit/audit-routes.ts";
import { auditWebhookRoutes } from "./audit/audit-webhook-routes.ts";
import { authenticateToken, authorize } from "./authorize.ts";
import { callerRoutes } from "./caller/caller-routes.ts";
import { CallerLimiter } from "./caller-limiter.ts";
import { configurationRoutes } from "./configurations/configuration-routes.ts";
import { doctorRoutes } from "./doctor/doctor-routes.ts";
import { driftHookRoutes } from "./drift/drift-hook-routes.ts";
import { driftRoutes } from "./drift/drift-routes.ts";
import { EventStreams } from "./event-streams.ts";
import { hookRoutes } from "./hooks/hook-routes.ts";
import { AnswerKeeper } from "./idempotency/answer-keeper.ts";
import { noteRepeatIn } from "./idempotency/note-repeat.ts";
import type { KeptAnswer } from "./idempotency/request-once.ts";
import { moduleRoutes } from "./modules/module-routes.ts";
import { notificationRoutes } from "./notifications/notification-routes.ts";
import { planSetRoutes } from "./plan-sets/plan-set-routes.ts";
import { policySetRoutes } from "./policy-sets/policy-set-routes.ts";
import { schemaChangeRoutes } from "./private-providers/schema-change-routes.ts";
import { answerProblem } from "./problem.ts";
import { projectRoutes } from "./projects/project-routes.ts";
import { providerReactionRoutes } from "./provider-reaction/provider-reaction-routes.ts";
import { readJsonBody } from "./read-body.ts";
import { rightsText } from "./rights-text.ts";
import { comparisonRoutes } from "./runs/comparison-routes.ts";
import { dependentsRoute } from "./runs/dependents-route.ts";
import { eventRoutes } from "./runs/event-routes.ts";
import { planRoutes } from "./runs/plan-routes.ts";
import { policyRoutes } from "./runs/policy-routes.ts";
import { runRoutes } from "./runs/run-routes.ts";
import { scheduleRoutes } from "./schedules/schedule-routes.ts";
import { searchRoutes } from "./search/search-routes.ts";
import { deleteStackRoute } from "./stacks/delete-route.ts";
import { freezeRoutes } from "./stacks/freeze-routes.ts";
import { lockRoutes } from "./stacks/lock-routes.ts";
import { stackRoutes } from "./stacks/stack-routes.ts";
import { toolRoutes } from "./stacks/tool-routes.ts";
import { stateVersionRoutes } from "./state-versions/state-version-routes.ts";
import { stateRoutes } from "./states/state-routes.ts";
import { triggerRoutes } from "./triggers/trigger-routes.ts";
import { cachedPackageRoutes } from "./upstream/cached-package-routes.ts";
import { providerSchemaRoutes } from "./upstream/provider-schema-routes.ts";
import { quarantineRoutes } from "./upstream/quarantine-routes.ts";
import { compileRequestValidator } from "./validate-request.ts";
import { accountSetRoutes } from "./variable-sets/account-set-routes.ts";
import { variableSetRoutes } from "./variable-sets/variable-set-routes.ts";
import { variableRoutes } from "./variables/variable-routes.ts";
import { connectionRoutes } from "./vcs/connection-routes.ts";
import { pullRequestRoutes } from "./vcs/pull-request-routes.ts";
import { watchRoutes } from "./watch/watch-routes.ts";
import { workerRoutes } from "./worker/worker-routes.ts";
import { workloadIdentityRoutes } from "./workload-identity/workload-identity-routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a caller of `/api/v1` needs: a role, or the token of a claim. */
    readonly access?: ApiRole | "run";
    /** Whether a route of no single stack shows only those stacks that the caller is limited to. */
    readonly limitsStacks?: boolean;
  }
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The name of an operation in the OpenAPI document. */
function operationOf(schema: unknown): string | undefined {
  return (schema as { readonly operationId?: string } | undefined)?.operationId;
}

/** Bytes of a JSON body. */
const BODY_LIMIT = 1024 * 1024;
/**
 * The API of stacks and runs, to be registered under `/api/v1`. The caller is authenticated by a token, and its role is
 * checked, before any part of a body is read; then the request is validated by the schemas of its route.
 */
export async function apiPlugin(fastify: FastifyInstance, options: ApiOptions): Promise<void> {
  const principals = new WeakMap<FastifyRequest, Principal>();
  const accountAdmins = new WeakSet<FastifyRequest>();
  /** What a caller may do where its request goes; what it may do in the account alone is noted. */
  const judge = (request: FastifyRequest, principal: Principal): void => {
    // Refusals are audited with the caller.
    principals.set(request, principal);
    principals.set(request, authorize(request, principal));
    if (isAccountAdmin(principal)) accountAdmins.add(request);
    else accountAdmins.delete(request);
  };
  const claims = new WeakMap<FastifyRequest, RunClaim>();
  const entries = new WeakMap<FastifyRequest, ChangeEntry>();
  const limiter = new CallerLimiter(options.rateLimit, options.clock);
  fastify.setValidatorCompiler(compileRequestValidator);
  fastify.setSerializerCompiler(() => (data) => JSON.stringify(data));
  const keeper = new AnswerKeeper({
    ...options,
    principalOf: (request) => (claims.has(request) ? undefined : principals.get(request)),
    noteRepeat: noteRepeatIn(options.audit),
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    let faster: KeptAnswer | undefined;
    try {
      // A name is taken, for example, by what the same request made that was sent at the same time.
      faster = await keeper.findFaster(request);
    } catch (refusal) {
      return answerProblem(request, reply, isServerError(refusal) ? refusal : error);
    }
    if (faster !== undefined) return keeper.repeat(request, reply, faster);
    return answerProblem(request, reply, error);
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const claim = await authorizeClaim(options, request);
    let caller: string;
    if (claim === undefined) {
      const principal = await authenticateToken(options.authenticator, request);
      judge(request, principal);
      caller = `${principal.account}\0${principal.actor}`;
    } else {
      claims.set(request, claim);
      caller = `\0${claim.tokenDigest}`;
    }
    limiter.take(caller);
  });
  const factsOf = (request: FastifyRequest) => {
    const { schema, url = "" } = request.routeOptions;
    const action = operationOf(schema) ?? `${request.method} ${url}`;
    return { action, target: auditTargetOf(request) };
  };
  // Before the answer, so that who has it finds the entry: of what no batch has noted. And before the answer is kept, as a repeat adds no such entry.
  fastify.addHook("onSend", async (request, reply) => {
    const { audit } = options;
    const { statusCode: status } = reply;
    if (keeper.isRepeat(request)) return;
    if (READS.has(request.method) || claims.has(request) || status >= 500) return;
    const outcome = status < 400 ? "done" : `HTTP_${status}`;
    if (outcome === "done" && entries.get(request)?.isWritten === true) return;
    await audit.note(request, principals.get(request), { ...factsOf(request), outcome });
  });
  keeper.addTo(fastify);
  fastify.addHook("preValidation", async (request) => {
    if (request.routeOptions.config.upload === true) return;
    request.body =
      request.routeOptions.schema?.body === undefined
        ? undefined
        : await readJsonBody(request, BODY_LIMIT);
    await judgeAgain(request);
  });
  const forgetForChange = async (
    request: FastifyRequest,
    principal: Principal,
  ): Promise<boolean> => {
    const { access = "admin" } = request.routeOptions.config;
    const isChange = access === "admin" || access === "account-admin" || access === "site-admin";
    if (READS.has(request.method) || !isChange) return false;
    await forgetRights(options, principal);
    return true;
  };
  /**
   * What a caller may do is judged again when its request is complete: a body may arrive long after its head, and rights be taken away
   * meanwhile.
   */
  const judgeAgain = async (request: FastifyRequest): Promise<void> => {
    const principal = principals.get(request);
    if (principal === undefined) return;
    if (!(await forgetForChange(request, principal)) && request.body === undefined) return;
    judge(request, await authenticateToken(options.authenticator, request));
  };

  const parts: ApiParts = {
    ...options,
    principalOf: (request) => {
      const principal = principals.get(request);
      if (principal === undefined) throw new ServerError("unauthenticated");
      return principal;
    },
    administersAccount: (request) => accountAdmins.has(request),
    audited: (request) => {
      const caller = auditCaller(request, parts.principalOf(request));
      const make = () => options.audit.entry(caller, factsOf(request));
      const companion = entries.get(request) ?? new ChangeEntry(make);
      entries.set(request, companion);
      const once = keeper.companionOf(request);
      return { ...parts, companion: once === undefined ? companion : together(companion, once) };
    },
    answerWithChange: (request, answer) => keeper.companionOf(request)?.answerWithChange(answer),
    claimOf: (request) => {
      const claim = claims.get(request);
      if (claim === undefined) throw new ServerError("unauthenticated");
      return claim;
    },
    uploadOf: async function* uploadOf(request) {
      for await (const chunk of request.raw as AsyncIterable<Uint8Array>) yield chunk;
      await forgetForChange(request, parts.principalOf(request));
      await parts.authorizeAgain(request);
    },
    authorizeAgain: async (request) => {
      const now = authorize(request, await authenticateToken(options.authenticator, request));
      const before = principals.get(request);
      if (before !== undefined && rightsText(before) === rightsText(now)) return;
      throw new ServerError("forbidden", "the rights of the credential have changed");
    },
  };
  callerRoutes(fastify, parts);
  accountRoutes(fastify, parts);
  userRoutes(fastify, parts);
  identityRoutes(fastify, parts);
  teamRoutes(fastify, parts);
  roleRoutes(fastify, parts);
  tokenRoutes(fastify, parts);
  sessionRoutes(fastify, parts);
  auditRoutes(fastify, parts);
  auditWebhookRoutes(fastify, parts);
  projectRoutes(fastify, parts);
  stackRoutes(fastify, parts);
  deleteStackRoute(fastify, parts);
  lockRoutes(fastify, parts);
  toolRoutes(fastify, parts);
  freezeRoutes(fastify, parts);
  hookRoutes(fastify, parts);
  stateRoutes(fastify, parts);
  stateVersionRoutes(fastify, parts);
  scheduleRoutes(fastify, parts);
  triggerRoutes(fastify, parts);
  driftRoutes(fastify, parts);
  providerReactionRoutes(fastify, parts);
  driftHookRoutes(fastify, parts);
  configurationRoutes(fastify, parts);
  variableRoutes(fastify, parts);
  variableSetRoutes(fastify, parts);
  accountSetRoutes(fastify, parts);
  workloadIdentityRoutes(fastify, parts);
  moduleRoutes(fastify, parts);
  schemaChangeRoutes(fastify, parts);
  quarantineRoutes(fastify, parts);
  cachedPackageRoutes(fastify, parts);
  providerSchemaRoutes(fastify, parts);
  connectionRoutes(fastify, parts);
  pullRequestRoutes(fastify, parts);
  notificationRoutes(fastify, parts);
  runRoutes(fastify, parts);
  planRoutes(fastify, parts);
  dependentsRoute(fastify, parts);
  planSetRoutes(fastify, parts);
  policyRoutes(fastify, parts);
  policySetRoutes(fastify, parts);
  comparisonRoutes(fastify, parts);
  const streams = new EventStreams(parts);
  eventRoutes(fastify, parts, streams);
  watchRoutes(fastify, parts, streams);
  searchRoutes(fastify, parts);
  doctorRoutes(fastify, parts);
  workerRoutes(fastify, parts);
}

/**
 * The claim of a request whose token is one of a claim; undefined for all others. Such a token is for the routes of its claim alone,
 * and is not valid once the claim has ended.
 */
async function authorizeClaim(
  parts: TransactionParts,
  request: FastifyRequest,
): Promise<RunClaim | undefined> {
  const { authorization = "" } = request.headers;
  const [, token = ""] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  if (!isRunToken(token)) return undefined;
  const found = await findClaim(parts, token);
  if (found === undefined) {
    throw new ServerError("unauthenticated", "the claim of the token has ended");
  }
  if (request.routeOptions.config.access === "run") return found.claim;
  throw new ServerError("forbidden", "the token of a claim is for the requests of its claim alone");
}
