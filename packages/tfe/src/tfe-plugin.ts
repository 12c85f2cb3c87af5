import { STATUS_CODES } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "./errors.ts";
import type { TfeCaller } from "./port/caller.ts";
import type { TfeFailure, TfePort } from "./port/tfe-port.ts";
import { organizationRoutes } from "./routes/organization-routes.ts";
import { refusalOf } from "./routes/refusal.ts";
import { needsCurrentRights, type RouteContext, type Signer } from "./routes/route-context.ts";
import { runRoutes } from "./routes/run-routes.ts";
import { stateRoutes } from "./routes/state-routes.ts";
import { variableRoutes } from "./routes/variable-routes.ts";
import { variableSetRoutes } from "./routes/variable-set-routes.ts";
import { workspaceRoutes } from "./routes/workspace-routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The body may take as long as it needs, and is limited by its handler. */
    readonly upload?: boolean;
    /** Needs no token: its address has the permission, or there is nothing to protect. */
    readonly open?: boolean;
    /** Whether it is a change that administrators make: their rights are those of now. */
    readonly administers?: boolean;
  }
}

interface TfePluginOptions {
  readonly port: TfePort;
}

/**
 * The API that the `cloud` block and the backend `remote` of terraform and tofu commands call, to be registered under a prefix
 * that service discovery names. The caller is authenticated before any part of a body is read.
 */
export async function tfePlugin(
  fastify: FastifyInstance,
  { port }: TfePluginOptions,
): Promise<void> {
  const context: RouteContext = {
    port,
    prefix: fastify.prefix,
    callers: new WeakMap<FastifyRequest, TfeCaller>(),
    signers: new WeakMap<FastifyRequest, Signer>(),
  };
  // Bodies are read by their routes: actions have the type of JSON and no body.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  fastify.addHook("onRoute", (route) => {
    route.schema = { ...route.schema, hide: true } as object;
  });
  fastify.addHook("onRequest", async (request, reply) => {
    reply.headers(HEADERS);
    if (request.routeOptions.config.open === true) return;
    const caller = await port.authenticate(request);
    port.admit(caller);
    context.callers.set(request, caller);
  });
  fastify.addHook("preHandler", async (request) => {
    const known = context.callers.get(request);
    if (known === undefined || !needsCurrentRights(request, known)) return;
    context.callers.set(request, await port.authenticate(request, { isCurrent: true }));
  });
  // Before the answer, so that who has it finds the entry.
  fastify.addHook("onSend", async (request, reply) => {
    const refusal = refusalOf(context, request, reply.statusCode);
    if (refusal !== undefined) await port.noteRefusal?.(request, refusal);
  });
  fastify.setErrorHandler(async (error, request, reply) => answer(port, request, reply, error));
  fastify.setNotFoundHandler(async (_request, reply) => {
    reply.headers(HEADERS);
    return sendErrors(reply, { status: 404, detail: "there is no such route" });
  });
  organizationRoutes(fastify, context);
  workspaceRoutes(fastify, context);
  stateRoutes(fastify, context);
  const { runs, variables, variableSets } = port;
  if (runs !== undefined) runRoutes(fastify, context, runs);
  if (variables === undefined) return;
  variableRoutes(fastify, context, variables);
  if (variableSets !== undefined) variableSetRoutes(fastify, context, variableSets, variables);
}

/** Commands decide by these what the server can do; another name of the program is not shown by them. */
const HEADERS = Object.freeze({
  "tfp-api-version": "2.6",
  "x-tfe-version": "v202501-1",
  "tfp-appname": "Terraform Enterprise",
  "cache-control": "no-store",
});

function answer(
  port: TfePort,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): FastifyReply {
  const failure: TfeFailure =
    error instanceof TfeError
      ? { status: error.httpStatus, detail: error.message }
      : port.failureOf(error);
  if (failure.status >= 500) request.log.error({ err: error }, "a request failed");
  // What is left of an upload is not worth reading.
  if (!request.raw.complete) reply.header("connection", "close");
  if (failure.retryAfterMs !== undefined) {
    reply.header("x-ratelimit-reset", String(failure.retryAfterMs / 1_000));
    reply.header("retry-after", String(Math.ceil(failure.retryAfterMs / 1_000)));
  }
  return sendErrors(reply, failure);
}

function sendErrors(reply: FastifyReply, { status, detail }: TfeFailure): FastifyReply {
  const title = (STATUS_CODES[status] ?? "Error").toLowerCase();
  return reply
    .code(status)
    .type("application/vnd.api+json")
    .send(JSON.stringify({ errors: [{ status: String(status), title, detail }] }));
}
