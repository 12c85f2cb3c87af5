import type { FastifyInstance, FastifyRequest, FastifySchema } from "fastify";
import type { Authenticator } from "../access/authenticator.ts";
import { type Principal, type Role, requireRole } from "../access/principal.ts";
import { nameWarnings } from "../domain/fields.ts";
import type { RequestContext } from "../domain/model.ts";
import type { RegistryScope } from "../domain/scope.ts";
import { invalidField, isRegistryError } from "../errors.ts";
import { type RateLimit, RateLimiter } from "../http/rate-limiter.ts";
import { auditRefusal, requestContext } from "../http/request-audit.ts";
import { signableRequest } from "../http/signable.ts";
import type { Registry } from "../registry.ts";
import { rfsFailure } from "./error-body.ts";
import { BodyFields, checkClientRequestId, pageRequest, QueryFields } from "./request-fields.ts";
import * as schemas from "./schemas.ts";
import { parseBody } from "./strict-json.ts";
import { pageInfo, providerView, versionItemView, versionView } from "./views.ts";

/** Options of {@link rfsPlugin}. */
export interface RfsOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  /** The region that this server is. */
  readonly region: string;
  /** Per account. @default none */
  readonly rateLimit?: RateLimit | undefined;
}

/** Everything in a request that an operation works with. */
interface Call {
  readonly registry: Registry;
  readonly scope: RegistryScope;
  readonly context: RequestContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  body(): Readonly<Record<string, unknown>>;
  /** Tells the client something that is no error. */
  warn(text: string): void;
}

interface Operation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly role: Role;
  readonly status: number;
  readonly schema: FastifySchema;
  /** What the response body says; `undefined` for none. */
  run(call: Call): Promise<object | undefined>;
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
  const allowed = (fastify.initialConfig as { routerOptions?: { maxParamLength?: number } })
    .routerOptions?.maxParamLength;
  if ((allowed ?? fastify.initialConfig.maxParamLength ?? 100) < PARAM_LENGTH) {
    throw new TypeError(`the RFS API needs routerOptions.maxParamLength of ${PARAM_LENGTH}`);
  }
  const { scheduler } = registry.parts;
  const limiter =
    options.rateLimit && new RateLimiter(options.rateLimit, () => scheduler.monotonicMs());
  const principals = new WeakMap<FastifyRequest, Principal>();

  fastify.setValidatorCompiler(() => () => true);
  fastify.setSerializerCompiler(() => (data) => JSON.stringify(data));
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
      handler: async (request, reply) => {
        const raw = Buffer.isBuffer(request.body) ? request.body : undefined;
        const principal = await authenticator.authenticate(signableRequest(request, raw));
        principals.set(request, principal);
        limiter?.take(principal.account);
        checkClientRequestId(request.headers["client-request-id"]);
        requireRole(principal, operation.role);
        const [, query = ""] = splitOnce(request.raw.url ?? "", "?");
        const result = await operation.run({
          registry,
          scope: { account: principal.account, region },
          context: requestContext(request, principal, request.signal),
          params: request.params as Readonly<Record<string, string>>,
          query,
          body: () => parseBody(raw),
          warn: (text) => void reply.header("x-rfs-warning", text.replaceAll(/[^ -~]/g, "?")),
        });
        reply.code(operation.status);
        if (result === undefined) return reply.send();
        return reply.type("application/json").send(JSON.stringify(result));
      },
    });
  }
}

const PROVIDERS = "/private-providers";
const PROVIDER = `${PROVIDERS}/:provider_name`;
const VERSIONS = `${PROVIDER}/versions`;
const VERSION = `${VERSIONS}/:provider_version`;

function describe(
  operationId: string,
  summary: string,
  rest: Omit<FastifySchema, "headers">,
): FastifySchema {
  const tags = ["private providers"];
  return { operationId, summary, tags, headers: schemas.RequestHeaders, ...rest } as FastifySchema;
}

const OPERATIONS: readonly Operation[] = [
  {
    name: "CreatePrivateProvider",
    method: "POST",
    path: PROVIDERS,
    role: "publisher",
    status: 201,
    schema: describe("CreatePrivateProvider", "Create a provider, with a first version if given", {
      body: schemas.CreateProviderBody,
      response: schemas.answers({ 201: schemas.CreatedProvider }, [409]),
    }),
    async run({ registry, scope, context, body, warn }) {
      const fields = new BodyFields(body(), Object.keys(schemas.CreateProviderBody.properties));
      const name = fields.required("provider_name");
      const created = await registry.createProvider(
        scope,
        {
          name,
          description: fields.optional("provider_description"),
          version: fields.optional("provider_version", "nullable"),
          versionDescription: fields.optional("version_description"),
          functionUrn: fields.optional("function_graph_urn", "nullable"),
          agencyUrn: fields.optional("provider_agency_urn", "nullable"),
          agencyName: fields.optional("provider_agency_name", "nullable"),
        },
        context,
      );
      const warnings = nameWarnings(name);
      if (warnings.length > 0) warn(warnings.join("; "));
      return { provider_id: created.providerId, provider_source: created.source };
    },
  },
  {
    name: "ListPrivateProviders",
    method: "GET",
    path: PROVIDERS,
    role: "reader",
    status: 200,
    schema: describe("ListPrivateProviders", "List providers, newest first", {
      querystring: schemas.ListQuery,
      response: schemas.answers({ 200: schemas.ProviderList }, []),
    }),
    async run({ registry, scope, context, query }) {
      const fields = new QueryFields(query, ["marker", "limit"], ["sort_key", "sort_dir"]);
      const page = await registry.listProviders(scope, pageRequest(fields), context);
      return { providers: page.items.map(providerView), page_info: pageInfo(page) };
    },
  },
  ...[`${PROVIDER}/metadata`, PROVIDER].map(
    (path): Operation => ({
      name: "ShowPrivateProviderMetadata",
      method: "GET",
      path,
      role: "reader",
      status: 200,
      schema: describe(
        path === PROVIDER ? "ShowPrivateProvider" : "ShowPrivateProviderMetadata",
        "Show a provider",
        {
          params: schemas.ProviderParams,
          querystring: schemas.IdQuery,
          response: schemas.answers({ 200: schemas.Provider }, [404]),
        },
      ),
      async run({ registry, scope, context, params, query }) {
        return providerView(await registry.showProvider(scope, named(params, query), context));
      },
    }),
  ),
  {
    name: "UpdatePrivateProviderMetadata",
    method: "PATCH",
    path: `${PROVIDER}/metadata`,
    role: "publisher",
    status: 204,
    schema: describe("UpdatePrivateProviderMetadata", "Set the description of a provider", {
      params: schemas.ProviderParams,
      body: schemas.UpdateProviderBody,
      response: schemas.answers(schemas.NOTHING, [404]),
    }),
    async run({ registry, scope, context, params, body }) {
      const fields = new BodyFields(body(), Object.keys(schemas.UpdateProviderBody.properties));
      const at = {
        name: params["provider_name"] ?? "",
        providerId: fields.optional("provider_id", "nullable"),
      };
      const change = { description: fields.optional("provider_description") };
      await registry.updateProvider(scope, at, change, context);
      return undefined;
    },
  },
  {
    name: "DeletePrivateProvider",
    method: "DELETE",
    path: PROVIDER,
    role: "publisher",
    status: 204,
    schema: describe("DeletePrivateProvider", "Delete a provider and, by policy, its versions", {
      params: schemas.ProviderParams,
      querystring: schemas.IdQuery,
      response: schemas.answers(schemas.NOTHING, [404]),
    }),
    async run({ registry, scope, context, params, query, warn }) {
      const { usedBy } = await registry.deleteProvider(scope, named(params, query), context);
      if (usedBy.length > 0) warn(`the provider was in use ${usedBy.length} times`);
      return undefined;
    },
  },
  {
    name: "CreatePrivateProviderVersion",
    method: "POST",
    path: VERSIONS,
    role: "publisher",
    status: 201,
    schema: describe("CreatePrivateProviderVersion", "Add a version to a provider", {
      params: schemas.ProviderParams,
      body: schemas.CreateVersionBody,
      response: schemas.answers({ 201: { type: "null", description: "done" } }, [404, 409]),
    }),
    async run({ registry, scope, context, params, body }) {
      const fields = new BodyFields(body(), Object.keys(schemas.CreateVersionBody.properties));
      const at = {
        name: params["provider_name"] ?? "",
        providerId: fields.optional("provider_id", "nullable"),
      };
      const version = {
        version: fields.required("provider_version"),
        description: fields.optional("version_description"),
        functionUrn: fields.required("function_graph_urn"),
      };
      await registry.createVersion(scope, at, version, context);
      return undefined;
    },
  },
  {
    name: "ListPrivateProviderVersions",
    method: "GET",
    path: VERSIONS,
    role: "reader",
    status: 200,
    schema: describe("ListPrivateProviderVersions", "List versions of a provider, newest first", {
      params: schemas.ProviderParams,
      querystring: schemas.ListVersionsQuery,
      response: schemas.answers({ 200: schemas.VersionList }, [404]),
    }),
    async run({ registry, scope, context, params, query }) {
      const single = ["marker", "limit", "provider_id"];
      const fields = new QueryFields(query, single, ["sort_key", "sort_dir"]);
      const at = { name: params["provider_name"] ?? "", providerId: fields.one("provider_id") };
      const page = await registry.listVersions(scope, at, pageRequest(fields), context);
      return { versions: page.items.map(versionItemView), page_info: pageInfo(page) };
    },
  },
  {
    name: "ShowPrivateProviderVersionMetadata",
    method: "GET",
    path: `${VERSION}/metadata`,
    role: "reader",
    status: 200,
    schema: describe("ShowPrivateProviderVersionMetadata", "Show a version", {
      params: schemas.VersionParams,
      querystring: schemas.IdQuery,
      response: schemas.answers({ 200: schemas.Version }, [404]),
    }),
    async run({ registry, scope, context, params, query }) {
      const at = { ...named(params, query), version: params["provider_version"] ?? "" };
      return versionView(await registry.showVersion(scope, at, context));
    },
  },
  {
    name: "DeletePrivateProviderVersion",
    method: "DELETE",
    path: VERSION,
    role: "publisher",
    status: 204,
    schema: describe("DeletePrivateProviderVersion", "Delete a version", {
      params: schemas.VersionParams,
      querystring: schemas.IdQuery,
      response: schemas.answers(schemas.NOTHING, [404]),
    }),
    async run({ registry, scope, context, params, query, warn }) {
      const at = { ...named(params, query), version: params["provider_version"] ?? "" };
      const { usedBy } = await registry.deleteVersion(scope, at, context);
      if (usedBy.length > 0) warn(`the version was in use ${usedBy.length} times`);
      return undefined;
    },
  },
];

function named(
  params: Readonly<Record<string, string>>,
  query: string,
): { name: string; providerId: string | undefined } {
  const fields = new QueryFields(query, ["provider_id"]);
  return { name: params["provider_name"] ?? "", providerId: fields.one("provider_id") };
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
