import { readJsonObject } from "@stackwright/base/json";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import type { Authenticator, Principal } from "@stackwright/registry";
import { isSignatureHeader } from "@stackwright/request-signing";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServerError } from "../domain/server-error.ts";
import type { ApiOptions, ApiParts } from "./api-parts.ts";
import { type ApiRole, requireApiRole } from "./api-roles.ts";
import { configurationRoutes } from "./configurations/configuration-routes.ts";
import { answerProblem } from "./problem.ts";
import { projectRoutes } from "./projects/project-routes.ts";
import { eventRoutes } from "./runs/event-routes.ts";
import { planRoutes } from "./runs/plan-routes.ts";
import { runRoutes } from "./runs/run-routes.ts";
import { lockRoutes } from "./stacks/lock-routes.ts";
import { stackRoutes } from "./stacks/stack-routes.ts";
import { compileRequestValidator } from "./validate-request.ts";
import { variableRoutes } from "./variables/variable-routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a caller of `/api/v1` needs. */
    readonly access?: ApiRole;
  }
}

/** Bytes of a JSON body. */
const BODY_LIMIT = 1024 * 1024;
/** Far above what a command, a console or a pipeline needs. */
const RATE_LIMIT: RateLimit = Object.freeze({ perSecond: 200, burst: 2_000 });

/**
 * The API of stacks and runs, to be registered under `/api/v1`. The caller is authenticated by a token, and its role is
 * checked, before any part of a body is read; then the request is validated by the schemas of its route.
 */
export async function apiPlugin(fastify: FastifyInstance, options: ApiOptions): Promise<void> {
  const principals = new WeakMap<FastifyRequest, Principal>();
  const limiter = new KeyedRateLimiter(options.rateLimit ?? RATE_LIMIT, () =>
    options.clock.monotonicMs(),
  );
  fastify.setValidatorCompiler(compileRequestValidator);
  fastify.setSerializerCompiler(() => (data) => JSON.stringify(data));
  fastify.setErrorHandler(async (error, request, reply) => answerProblem(request, reply, error));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const principal = await authorize(options.authenticator, request);
    const retryAfterMs = limiter.take(`${principal.account}\0${principal.actor}`);
    if (retryAfterMs > 0) {
      throw new ServerError("rate_limited", "the credential makes too many requests", {
        retryAfterMs,
      });
    }
    principals.set(request, principal);
  });
  fastify.addHook("preValidation", async (request) => {
    if (request.routeOptions.config.upload === true) return;
    request.body =
      request.routeOptions.schema?.body === undefined ? undefined : await readBody(request);
  });

  const parts: ApiParts = {
    ...options,
    principalOf: (request) => {
      const principal = principals.get(request);
      if (principal === undefined) throw new ServerError("unauthenticated");
      return principal;
    },
    authorizeAgain: async (request) => {
      await authorize(options.authenticator, request);
    },
  };
  projectRoutes(fastify, parts);
  stackRoutes(fastify, parts);
  lockRoutes(fastify, parts);
  configurationRoutes(fastify, parts);
  variableRoutes(fastify, parts);
  runRoutes(fastify, parts);
  planRoutes(fastify, parts);
  eventRoutes(fastify, parts);
}

/** Who sent a request, if that is allowed to make it. */
async function authorize(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Principal> {
  const principal = await authenticate(authenticator, request);
  const { access = "admin" } = request.routeOptions.config;
  requireApiRole(principal, access);
  const { project } = (request.params ?? {}) as { project?: string };
  const { projects } = principal;
  if (project !== undefined && projects.length > 0 && !projects.includes(project)) {
    throw new ServerError("not_found", `there is no project "${project.slice(0, 64)}"`);
  }
  return principal;
}

/** Signatures cover a body, which is not read yet: this API takes tokens. */
async function authenticate(
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Principal> {
  const { authorization } = request.headers;
  if (authorization !== undefined && isSignatureHeader(authorization)) {
    throw new ServerError("unauthenticated", "this API takes a token, not a signature");
  }
  const { rawHeaders } = request.raw;
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  }
  const target = request.raw.url ?? request.url;
  return authenticator.authenticate({
    method: request.method,
    target,
    headers,
    body: new Uint8Array(),
  });
}

/** Reads a JSON object; a request without a body has an empty one. */
async function readBody(request: FastifyRequest): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > BODY_LIMIT) throw new ServerError("too_large");
    chunks.push(chunk);
  }
  if (size === 0) return {};
  const { object, problem } = readJsonObject(Buffer.concat(chunks));
  if (problem === undefined) return object;
  throw new ServerError("invalid_request", "the request body is not a JSON object");
}
