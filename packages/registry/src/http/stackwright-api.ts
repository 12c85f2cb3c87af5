import type { RateLimit } from "@stackwright/base/limiter";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Authenticator } from "../access/authenticator.ts";
import { type Principal, requireRole } from "../access/principal.ts";
import { isRegistryError, RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import { AccountLimiter } from "./account-limiter.ts";
import { auditRefusal } from "./request-audit.ts";
import { parseBody } from "./request-body.ts";
import { signableRequest } from "./signable.ts";
import { compileValidator } from "./validation.ts";

/** Options of plugins that are our own API. */
export interface StackwrightApiOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly region: string;
  /** Per account. @default none */
  readonly rateLimit?: RateLimit | undefined;
  /** Adds hooks, which run once the caller is known and the request is valid. @default none are added */
  readonly addHooks?: ((fastify: FastifyInstance, principalOf: PrincipalOf) => void) | undefined;
}

/** Who sent a request that was let through. */
export type PrincipalOf = (request: FastifyRequest) => Principal;

const BODY_LIMIT = 64 * 1024;

const DIGEST = /^[0-9a-f]{64}$/;

/**
 * What the plugins of our own API have in common. Before a handler runs, the caller is authenticated by its signature
 * or token, has the role that the route's `config` names, and the request is valid by the schemas of the route. Errors
 * are `{error: {code, message}}`; refusals are audited.
 */
export function registerStackwrightApi(
  fastify: FastifyInstance,
  options: StackwrightApiOptions,
): PrincipalOf {
  const { registry, authenticator, region } = options;
  const { clock } = registry.parts;
  const limiter = new AccountLimiter(options.rateLimit, clock);
  const principals = new WeakMap<FastifyRequest, Principal>();

  fastify.setValidatorCompiler(compileValidator);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    const known = isRegistryError(error) && error.httpStatus < 500 ? error : undefined;
    const principal = principals.get(request);
    if (known === undefined) request.log.error({ err: error }, "a request failed");
    else request.log.info({ err: error, actor: principal?.actor }, "a request was refused");
    await auditRefusal(registry, region, request, principal, error);
    if (known?.code === "REGISTRY_RATE_LIMITED") {
      reply.header("retry-after", Math.ceil((known.details.retryAfterMs ?? 1000) / 1000));
    }
    // What is left of an upload is not worth reading.
    if (!request.raw.complete) reply.header("connection", "close");
    const { code = "INTERNAL", message = "internal error" } = known ?? {};
    return reply
      .code(known?.httpStatus ?? 500)
      .type("application/json")
      .send(JSON.stringify({ error: { code, message } }));
  });

  // Only a caller that is known and may ask learns what is wrong with a request.
  fastify.addHook("preValidation", async (request) => {
    const { config, schema } = request.routeOptions;
    const raw = config.upload === true ? undefined : await readSmallBody(request);
    const signed = raw ?? { sha256: announcedDigest(request) ?? "" };
    const principal = await authenticator.authenticate(signableRequest(request, signed));
    principals.set(request, principal);
    limiter.take(principal.account);
    if (config.role !== undefined) requireRole(principal, config.role, config.limits);
    if (raw === undefined) return;
    const isLeftOut = raw.byteLength === 0 && config.bodyOptional === true;
    request.body = schema?.body === undefined ? undefined : isLeftOut ? {} : parseBody(raw);
  });

  const principalOf: PrincipalOf = (request) => {
    const principal = principals.get(request);
    if (principal === undefined) throw new RegistryError("REGISTRY_UNAUTHENTICATED");
    return principal;
  };
  options.addHooks?.(fastify, principalOf);
  return principalOf;
}

/** The digest that an upload announces for its body. */
export function announcedDigest({ headers }: FastifyRequest): string | undefined {
  const claimed = headers["x-sdk-content-sha256"];
  return typeof claimed === "string" && DIGEST.test(claimed) ? claimed : undefined;
}

/** Reads a body of at most 64 KiB. Throws `REGISTRY_ARCHIVE_TOO_LARGE` for more. */
async function readSmallBody(request: FastifyRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > BODY_LIMIT) {
      throw new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE", "the request is too large");
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const Problem = Type.Object({
  error: Type.Object({ code: Type.String(), message: Type.String() }),
});

/** Descriptions of the errors of our own API. */
export const STACKWRIGHT_API_ERRORS: Readonly<Record<number, object>> = Object.freeze({
  400: { ...Problem, description: "the request is not valid" },
  401: { ...Problem, description: "the caller could not be authenticated" },
  403: { ...Problem, description: "the caller is not allowed to do this" },
  404: { ...Problem, description: "there is nothing like that" },
  409: { ...Problem, description: "it conflicts with a stored record" },
  413: { ...Problem, description: "too large" },
  422: { ...Problem, description: "the archive cannot be taken" },
  429: { ...Problem, description: "too many requests" },
});
