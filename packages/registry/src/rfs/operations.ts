import type { FastifySchema } from "fastify";
import type { Role } from "../access/principal.ts";
import { nameWarnings } from "../domain/fields.ts";
import type { RequestContext } from "../domain/model.ts";
import type { RegistryScope } from "../domain/scope.ts";
import { describeRoute } from "../http/route-description.ts";
import type { Registry } from "../registry.ts";
import { BodyFields, pageRequest, QueryFields } from "./request-fields.ts";
import * as schemas from "./schemas.ts";
import { pageInfo, providerView, versionItemView, versionView } from "./views.ts";

/** Everything in a request that an operation works with. */
interface RfsCall {
  readonly registry: Registry;
  readonly scope: RegistryScope;
  readonly context: RequestContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly body: () => Readonly<Record<string, unknown>>;
  /** Sends the client a notice that is not an error. */
  readonly warn: (text: string) => void;
}

/** One operation of the API. */
interface RfsOperation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly role: Role;
  readonly status: number;
  readonly schema: FastifySchema;
  /** What the response body says; `undefined` for none. */
  readonly run: (call: RfsCall) => Promise<object | undefined>;
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
  return describeRoute({ operationId, summary, tags, headers: schemas.RequestHeaders, ...rest });
}

/** The nine private-provider operations, and the bare name as another address of one of them. */
export const OPERATIONS: readonly RfsOperation[] = [
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
    (path): RfsOperation => ({
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
      response: schemas.answers(schemas.EMPTY_BODY, [404]),
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
      response: schemas.answers(schemas.EMPTY_BODY, [404]),
    }),
    async run({ registry, scope, context, params, query, warn }) {
      const { usedBy } = await registry.deleteProvider(scope, named(params, query), context);
      if (usedBy.length > 0) warn(`the provider was deleted while ${inUse(usedBy)}`);
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
      response: schemas.answers(schemas.EMPTY_BODY, [404]),
    }),
    async run({ registry, scope, context, params, query, warn }) {
      const at = { ...named(params, query), version: params["provider_version"] ?? "" };
      const { usedBy } = await registry.deleteVersion(scope, at, context);
      if (usedBy.length > 0) warn(`the version was deleted while ${inUse(usedBy)}`);
      return undefined;
    },
  },
];

/** Who still uses something, of many the first. */
function inUse([first = "", ...others]: readonly string[]): string {
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `it is in use by ${first.slice(0, 200)}${more}`;
}

function named(
  params: Readonly<Record<string, string>>,
  query: string,
): { name: string; providerId: string | undefined } {
  const fields = new QueryFields(query, ["provider_id"]);
  return { name: params["provider_name"] ?? "", providerId: fields.one("provider_id") };
}
