import type { RateLimit } from "@stackwright/base/limiter";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Authenticator } from "../access/authenticator.ts";
import { type Principal, requireRole } from "../access/principal.ts";
import { invalidField, isRegistryError, RegistryError } from "../errors.ts";
import { AccountLimiter } from "../http/account-limiter.ts";
import { clientSignal } from "../http/client-signal.ts";
import { requireParamLength } from "../http/param-length.ts";
import { auditRefusal, requestContext } from "../http/request-audit.ts";
import { parseBody } from "../http/request-body.ts";
import { signableRequest } from "../http/signable.ts";
import { compileValidator } from "../http/validation.ts";
import type { Registry } from "../registry.ts";
import { rfsFailure } from "./error-body.ts";
import { OPERATIONS } from "./operations.ts";
import { checkClientRequestId } from "./request-fields.ts";

/** Options of {@link rfsPlugin}. */
export interface RfsOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  /** The region that this server is. */
  readonly region: string;
  /** Per account. @default none */
  readonly rateLimit?: RateLimit | undefined;
}

/** The largest request is a few kilobytes of descriptions. */
const BODY_LIMIT = 64 * 1024;
/** Longest path parameter: a version, percent-encoded. */
const PARAM_LENGTH = 3 * 128;

/**
 * The private-provider operations of the RFS API, to be registered under the prefix `/v1`. Every
 * response carries `X-Request-Id`, every error is JSON with a code of the service.
 *
 * The instance has to allow path parameters of 384 characters (`routerOptions.maxParamLength`).
 *
 * Source: seed 003 (CreatePrivateProvider) and the API's published definition.
 */
export async function rfsPlugin(fastify: FastifyInstance, options: RfsOptions): Promise<void> {
  const { registry, authenticator, region } = options;
  requireParamLength(fastify, PARAM_LENGTH);
  const { clock } = registry.parts;
  const limiter = new AccountLimiter(options.rateLimit, clock);
  const principals = new WeakMap<FastifyRequest, Principal>();

  fastify.setValidatorCompiler(compileValidator);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    "*",
    { parseAs: "buffer", bodyLimit: BODY_LIMIT },
    (_request, body, done) => done(null, body),
  );
  fastify.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
    // Such a body would not be read, and so not be compared with what was signed.
    if (request.method === "GET" && hasBody(request)) {
      throw invalidField("body", "unknown", "a GET request has no body");
    }
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    const failure = rfsFailure(error);
    const principal = principals.get(request);
    if (failure.status >= 500) request.log.error({ err: error }, "a request failed");
    else request.log.info({ err: error, actor: principal?.actor }, "a request was refused");
    await auditRefusal(registry, region, request, principal, error);
    if (isRegistryError(error, "REGISTRY_RATE_LIMITED")) {
      reply.header("retry-after", Math.ceil((error.details.retryAfterMs ?? 1000) / 1000));
    }
    reply.header("x-request-id", request.id).code(failure.status).type("application/json");
    return reply.send(JSON.stringify(failure.body));
  });
  fastify.setNotFoundHandler(async () => {
    throw Object.assign(new Error("no such operation"), { statusCode: 404 });
  });

  for (const operation of OPERATIONS) {
    fastify.route({
      method: operation.method,
      url: operation.path,
      schema: operation.schema,
      // Only a caller that is known and may ask learns what is wrong with a request.
      preValidation: async (request) => {
        const raw = Buffer.isBuffer(request.body) ? request.body : undefined;
        const principal = await authenticator.authenticate(signableRequest(request, raw));
        principals.set(request, principal);
        limiter.take(principal.account);
        checkClientRequestId(request.headers["client-request-id"]);
        requireRole(principal, operation.role);
        request.body = operation.schema.body === undefined ? undefined : parseBody(raw);
      },
      handler: async (request, reply) => {
        const principal = principals.get(request);
        if (principal === undefined) throw new RegistryError("REGISTRY_UNAUTHENTICATED");
        const [, query = ""] = splitOnce(request.raw.url ?? "", "?");
        const result = await operation.run({
          registry,
          scope: { account: principal.account, region },
          context: requestContext(request, principal, clientSignal(reply)),
          params: request.params as Readonly<Record<string, string>>,
          query,
          body: () => request.body as Readonly<Record<string, unknown>>,
          warn: (text) => void reply.header("x-rfs-warning", text.replaceAll(/[^ -~]/g, "?")),
        });
        reply.code(operation.status);
        if (result === undefined) return reply.send();
        return reply.type("application/json").send(reply.serialize(result));
      },
    });
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
