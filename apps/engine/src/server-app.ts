import { randomUUID } from "node:crypto";
import swagger from "@fastify/swagger";
import type { RateLimit } from "@stackwright/base/limiter";
import type { BridgeArchiveSource } from "@stackwright/provider-source";
import {
  type Authenticator,
  type CredentialStore,
  isAccountAdmin,
  type Principal,
  type Registry,
} from "@stackwright/registry";
import { stackwrightApiPlugin } from "@stackwright/registry/api";
import { rfsPlugin } from "@stackwright/registry/rfs";
import {
  type PublishLimits,
  publishPlugin,
  terraformPlugin,
} from "@stackwright/registry/terraform";
import { type StorageBackend, tenancyOf } from "@stackwright/storage";
import fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Logger } from "pino";
import { registryAudit } from "./access/registry-audit.ts";
import { userOfStackIn } from "./access/user-of-stack.ts";
import { AnswerKeeper, type IdempotencyKeys } from "./api/idempotency/answer-keeper.ts";
import { noteRepeatIn } from "./api/idempotency/note-repeat.ts";
import { hasUnreadBody, limitBodyTime } from "./body-timer.ts";
import { SERVER_ERRORS, type ServerError } from "./domain/server-error.ts";
import { answerError } from "./error-answer.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { openApiOptions } from "./openapi/openapi-options.ts";
import { openapiPage } from "./openapi/openapi-page.ts";
import type { TransactionParts } from "./queue/transaction.ts";
import type { RequestTraces } from "./tracing/trace-requests.ts";

/** A further face of the server: the engine's own API is one. */
export interface ServerPlugin {
  readonly prefix: string;
  readonly plugin: FastifyPluginAsync;
}

/** What the app is put together from. Everything belongs to the caller. */
export interface ServerAppOptions {
  readonly storage: StorageBackend;
  readonly registry: Registry;
  readonly credentials: CredentialStore;
  readonly authenticator: Authenticator;
  readonly region: string;
  readonly metrics: ServerMetrics;
  /** What requests are part of. */
  readonly traces: RequestTraces;
  readonly logger: Logger;
  /** With what the answers to requests with an idempotency key are kept. */
  readonly keeping: TransactionParts & { readonly idempotencyKeys: IdempotencyKeys };
  /** Says whether requests should go elsewhere, as the server is about to stop. */
  readonly isDraining: () => boolean;
  readonly mirrorHosts?: readonly string[];
  readonly bridge?: BridgeArchiveSource | undefined;
  readonly rateLimit?: RateLimit | undefined;
  readonly publishLimits?: PublishLimits | undefined;
  /** Services that discovery names beside providers. @default none */
  readonly services?: Readonly<Record<string, unknown>> | undefined;
  /** Faces beyond those of the registry. @default [] */
  readonly plugins?: readonly ServerPlugin[] | undefined;
  readonly openMetrics?: boolean;
  readonly trustProxy?: boolean;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly version: string;
}

const PROBE_TIMEOUT_MS = 2_000;

/**
 * The server as a fastify instance that does not listen yet: plugins, health, metrics, OpenAPI document.
 * Nothing here reads the environment or the disk.
 */
export async function createServerApp(options: ServerAppOptions): Promise<FastifyInstance> {
  const { registry, credentials, authenticator, region, metrics, tls } = options;
  const app = fastify({
    loggerInstance: options.logger,
    childLoggerFactory: (logger, bindings, given, raw) =>
      options.traces.child(logger as Logger, bindings, given, raw),
    genReqId: () => randomUUID(),
    // Client and proxy headers do not choose the id of a request: it is in the audit trail.
    requestIdHeader: false,
    // The last address of the header is the one that the proxy saw; what stands before it is what its client says.
    trustProxy: options.trustProxy === true && ((_address: string, hop: number) => hop === 0),
    bodyLimit: 1024 * 1024,
    connectionTimeout: 60_000,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 4096 },
    frameworkErrors: (error, request, reply) => {
      const refusal = { statusCode: error.statusCode ?? 400 };
      void answerError(request, reply, refusal);
    },
    ...(tls === undefined ? {} : { https: { ...tls, minVersion: "TLSv1.2" as const } }),
  }) as unknown as FastifyInstance;
  app.server.headersTimeout = 15_000;
  app.server.requestTimeout = 0;

  metrics.observe(app);
  options.traces.observe(app);
  limitBodyTime(app);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "x-request-id": request.id, "x-content-type-options": "nosniff" });
  });
  // A connection that stays open after its last answer would hold the stop up.
  app.addHook("onSend", async (request, reply) => {
    if (options.isDraining() || hasUnreadBody(request)) reply.header("connection", "close");
  });
  app.setNotFoundHandler(async (request, reply) =>
    answerError(request, reply, { statusCode: 404 }),
  );
  app.setErrorHandler(async (error, request, reply) => {
    const answer = answerError(request, reply, error);
    // What a client does wrong is no trouble of the server.
    if (reply.statusCode < 500) request.log.info({ err: error }, "a request was refused");
    else request.log.error({ err: error }, "a request failed");
    return answer;
  });
  await app.register(swagger, openApiOptions(options.version));

  const { rateLimit, bridge, mirrorHosts, publishLimits } = options;
  const common = { registry, authenticator, region, rateLimit };
  await app.register(rfsPlugin, { ...common, prefix: "/v1" });
  const addHooks = (
    fastify: FastifyInstance,
    principalOf: (request: FastifyRequest) => Principal,
  ): void => {
    const { keeping } = options;
    // What the registry does is in batches of its own.
    const keeper = new AnswerKeeper({
      ...keeping,
      principalOf,
      once: "begun-first",
      noteRepeat: noteRepeatIn(registryAudit(registry, region)),
      refuse: answerRefusal,
    });
    keeper.addTo(fastify);
  };
  const { services } = options;
  await app.register(terraformPlugin, { ...common, bridge, mirrorHosts, services });
  await app.register(publishPlugin, {
    ...common,
    addHooks,
    limits: publishLimits,
    prefix: "/api/v1/registry",
  });
  await app.register(stackwrightApiPlugin, {
    ...common,
    addHooks,
    credentials,
    userOfStack: userOfStackIn(options.storage),
    prefix: "/api/v1/registry",
  });
  for (const { prefix, plugin } of options.plugins ?? []) await app.register(plugin, { prefix });

  const operations = { schema: { tags: ["operations"] } } as object;
  app.get("/healthz", operations, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    return { status: "ok" };
  });
  app.get("/readyz", operations, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    if (options.isDraining()) return reply.code(503).send({ status: "draining" });
    try {
      await probeStore(options.storage);
      return { status: "ok" };
    } catch (error) {
      app.log.warn({ err: error }, "the store does not answer");
      return reply.code(503).send({ status: "store unavailable" });
    }
  });
  app.get("/metrics", operations, async (request, reply) => {
    if (options.openMetrics === false) {
      // With two the caller would be ambiguous.
      const { authorization: given = [], "x-auth-token": other } = request.raw.headersDistinct;
      const [only = ""] = given.length === 1 && other === undefined ? given : [];
      const token = /^bearer +(\S+)$/i.exec(only)?.[1];
      const owner = token === undefined ? undefined : await credentials.tokenOwner(token);
      if (owner === undefined || !isAccountAdmin(owner.principal)) {
        return reply.code(401).send({ status: "a token is needed" });
      }
    }
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  // The same for all, and not to be made anew for each caller that has no credential.
  let page: string | undefined;
  app.get("/docs", { schema: { hide: true } }, async (_request, reply) => {
    reply.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
    page ??= openapiPage(app.swagger() as OpenApiDocument);
    return reply.type("text/html; charset=utf-8").send(page);
  });
  return app;
}

/** A refusal of a request with an idempotency key, in the form of the errors of the registry. */
function answerRefusal(reply: FastifyReply, { code, message, retryAfterMs }: ServerError) {
  const { httpStatus = 500, retryable } = SERVER_ERRORS[code];
  if (retryable) reply.header("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
  return reply
    .code(httpStatus)
    .type("application/json")
    .send(JSON.stringify({ error: { code: code.toUpperCase(), message } }));
}

/** A linearizable read of something that need not exist: the store answers, or it does not. */
async function probeStore(storage: StorageBackend): Promise<void> {
  const type = { group: "stackwright", kind: "RegistrySecret" };
  const tenancy = tenancyOf({ kind: "credentials" });
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  await storage.list("strong", type, tenancy, "readyz", { signal });
}
