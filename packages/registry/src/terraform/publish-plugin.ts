import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Authenticator } from "../access/authenticator.ts";
import { hasRole, type Principal, requireRole } from "../access/principal.ts";
import { isRegistryError, RegistryError } from "../errors.ts";
import { type RateLimit, RateLimiter } from "../http/rate-limiter.ts";
import { auditRefusal, requestContext } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import { signableRequest } from "../http/signable.ts";
import type { Registry } from "../registry.ts";
import { parseBody } from "../rfs/strict-json.ts";
import { claimNamespace, findNamespace } from "./namespaces.ts";
import { changeRelease, checkPublication, type PublishLimits, publishArchive } from "./publish.ts";

/** Options of {@link publishPlugin}. */
export interface PublishOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly region: string;
  readonly limits?: PublishLimits | undefined;
  /** Per account. @default none */
  readonly rateLimit?: RateLimit | undefined;
}

const DIGEST = /^[0-9a-f]{64}$/;
const BODY_LIMIT = 64 * 1024;

interface VersionParams {
  namespace: string;
  type: string;
  version: string;
}

/**
 * How archives get into the registry: namespaces, uploads, withdrawal, deprecation. To be registered
 * under a prefix, such as `/api/v1/registry`.
 *
 * An upload is `PUT .../{namespace}/{type}/{version}/{platform}` with the archive as its body, which is
 * streamed into the blob store and judged there. A signed request carries the digest of the body in
 * `X-Sdk-Content-Sha256`, as the signature is compared before the body is read.
 */
export async function publishPlugin(
  fastify: FastifyInstance,
  options: PublishOptions,
): Promise<void> {
  const { registry, authenticator, region, limits = {} } = options;
  const { scheduler } = registry.parts;
  const limiter =
    options.rateLimit && new RateLimiter(options.rateLimit, () => scheduler.monotonicMs());
  const principals = new WeakMap<FastifyRequest, Principal>();

  fastify.setValidatorCompiler(() => () => true);
  fastify.setSerializerCompiler(() => (data) => JSON.stringify(data));
  fastify.removeAllContentTypeParsers();
  // Bodies are read by their handlers, after the sender is known.
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
    return reply
      .code(known?.httpStatus ?? 500)
      .type("application/json")
      .send(
        JSON.stringify({
          error: { code: known?.code ?? "INTERNAL", message: known?.message ?? "internal error" },
        }),
      );
  });

  async function recognise(request: FastifyRequest, body: Uint8Array | { sha256: string }) {
    const principal = await authenticator.authenticate(signableRequest(request, body));
    principals.set(request, principal);
    limiter?.take(principal.account);
    return principal;
  }

  const tags = ["publishing"];
  const problem = Type.Object({
    error: Type.Object({ code: Type.String(), message: Type.String() }),
  });
  const failures = { 401: problem, 403: problem, 404: problem, 409: problem, 422: problem };

  fastify.put<{ Params: { namespace: string } }>(
    "/namespaces/:namespace",
    {
      schema: describeRoute({
        tags,
        summary: "Take a namespace for an account, or set whether it is public",
        body: Type.Object({
          public: Type.Optional(Type.Boolean({ default: false })),
          account: Type.Optional(Type.String({ description: "another account; operators only" })),
        }),
        response: { 200: Type.Object({}), ...failures },
      }),
    },
    async (request) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      requireRole(principal, "admin");
      const body = raw.byteLength === 0 ? {} : parseBody(raw);
      const account = body["account"] ?? principal.account;
      if (account !== principal.account && !hasRole(principal, "operator")) {
        throw new RegistryError("REGISTRY_FORBIDDEN", "only operators act for other accounts");
      }
      const namespace = {
        name: request.params.namespace,
        account: String(account),
        public: body["public"] === true,
      };
      await claimNamespace(registry, namespace, requestContext(request, principal));
      return namespace;
    },
  );

  fastify.put<{ Params: VersionParams & { platform: string } }>(
    "/providers/:namespace/:type/:version/:platform",
    {
      schema: describeRoute({
        tags,
        summary: "Publish an archive",
        description: "The body is the zip archive. The same archive again is no error.",
        consumes: ["application/zip"],
        querystring: Type.Object({
          protocols: Type.Optional(Type.String({ default: "5.0", examples: ["5.0,6.0"] })),
        }),
        response: { 200: Type.Object({}), 201: Type.Object({}), ...failures, 413: problem },
      }),
    },
    async (request, reply) => {
      const claimed = request.headers["x-sdk-content-sha256"];
      const expected = typeof claimed === "string" && DIGEST.test(claimed) ? claimed : undefined;
      const principal = await recognise(request, { sha256: expected ?? "" });
      requireRole(principal, "publisher");
      const { account } = principal;
      const protocols = new URL(request.url, "http://x").searchParams.get("protocols") ?? "5.0";
      const checked = await checkPublication(registry, account, {
        ...request.params,
        protocols: protocols.split(","),
      });
      const announced = Number(request.headers["content-length"] ?? 0);
      if (announced > (limits.maxArchiveBytes ?? 1024 ** 3)) {
        throw new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE");
      }
      const context = requestContext(request, principal, request.signal);
      const result = await publishArchive(
        registry,
        region,
        checked,
        request.raw,
        context,
        limits,
        expected,
      );
      reply.code(result.added ? 201 : 200);
      return { filename: checked.filename, sha256: result.sha256, h1: result.h1 };
    },
  );

  fastify.patch<{ Params: VersionParams }>(
    "/providers/:namespace/:type/:version",
    {
      schema: describeRoute({
        tags,
        summary: "Deprecate a version",
        description: "The text is shown by the command to whoever looks for versions.",
        body: Type.Object({ deprecation: Type.String({ maxLength: 500 }) }),
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      const { deprecation } = parseBody(raw);
      if (typeof deprecation !== "string" || deprecation.length > 500) {
        throw new RegistryError("REGISTRY_INVALID_FIELD", "deprecation is a text");
      }
      await change(request, principal, { deprecation });
      return reply.code(204).send();
    },
  );

  fastify.delete<{ Params: VersionParams }>(
    "/providers/:namespace/:type/:version",
    {
      schema: describeRoute({
        tags,
        summary: "Withdraw a version",
        description: "It is offered no more; its number stays taken by the same archives.",
        response: { 204: Type.Null(), ...failures },
      }),
    },
    async (request, reply) => {
      const principal = await recognise(request, await readSmallBody(request));
      await change(request, principal, { withdrawn: true });
      return reply.code(204).send();
    },
  );

  async function change(
    request: FastifyRequest<{ Params: VersionParams }>,
    principal: Principal,
    what: { readonly withdrawn?: true; readonly deprecation?: string },
  ): Promise<void> {
    requireRole(principal, "publisher");
    const { namespace, type, version } = request.params;
    const owner = await findNamespace(registry, namespace);
    if (owner?.account !== principal.account) throw new RegistryError("REGISTRY_NOT_FOUND");
    const key = {
      origin: "published",
      account: principal.account,
      name: `${namespace}/${type}/${version}`,
    } as const;
    await changeRelease(registry, region, key, what, requestContext(request, principal));
  }
}

async function readSmallBody(request: FastifyRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > BODY_LIMIT) throw new RegistryError("REGISTRY_ARCHIVE_TOO_LARGE");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
