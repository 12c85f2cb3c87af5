import type { UpstreamSchema } from "@stackwright/proto/stackwright";
import { ProviderAddress } from "@stackwright/provider-source";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { createUpstreamComparisons } from "../../upstream-schemas/compare-versions.ts";
import { listSchemas, removeSchema } from "../../upstream-schemas/stored-schemas.ts";
import { AccountPlaces } from "../account-places.ts";
import { type ApiParts, Digest, routeSchema } from "../api-parts.ts";
import { endOfRequest } from "../end-of-request.ts";
import {
  ComparedSchemas,
  ComparedVersion,
  comparedSchemasView,
} from "../private-providers/schema-change-view.ts";
import { timeOf } from "../runs/run-view.ts";

/** How long a comparison may take. */
const COMPARE_MS = 60_000;
/** Comparisons at the same time: each has two schemas in memory. */
const MAX_COMPARISONS = { all: 8, account: 2 };

const Provider = Type.String({
  minLength: 1,
  maxLength: 300,
  description: "Address of the provider, such as registry.terraform.io/hashicorp/aws.",
});
const ListQuery = Type.Object(
  { provider: Type.Optional(Provider) },
  { additionalProperties: false },
);
const Query = Type.Object(
  { provider: Provider, from: ComparedVersion, to: ComparedVersion },
  { additionalProperties: false },
);
const Named = Type.Object(
  { provider: Provider, version: ComparedVersion },
  { additionalProperties: false, title: "NamedProviderSchema" },
);
const SchemaView = Type.Object(
  {
    provider: Type.String(),
    version: Type.String(),
    digest: Digest,
    bytes: Type.Integer(),
    handed_in_at: Type.String(),
    other: Type.Optional(
      Type.Object(
        { digest: Digest, at: Type.String() },
        { description: "Another schema that a run had of the same version, which is not kept." },
      ),
    ),
  },
  { title: "ProviderSchema" },
);

const SCHEMAS = "/registry/provider-schemas";

/** `/registry/provider-schemas`: the schemas of upstream providers that runs handed in. */
export function providerSchemaRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf, stopping } = parts;
  const compare = createUpstreamComparisons(parts);
  const places = new AccountPlaces(MAX_COMPARISONS, "comparisons of schemas");

  fastify.get<{ Querystring: Static<typeof ListQuery> }>(
    SCHEMAS,
    {
      schema: routeSchema(
        "List the schemas of versions of upstream providers that runs handed in",
        "ListProviderSchemas",
        { 200: Type.Object({ schemas: Type.Array(SchemaView) }) },
        { querystring: ListQuery },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { provider } = request.query;
      const wanted = provider && addressOf(provider);
      const found = await listSchemas(storage, principalOf(request).account);
      return {
        schemas: found.filter((one) => wanted === undefined || one.provider === wanted).map(viewOf),
      };
    },
  );

  fastify.get<{ Querystring: Static<typeof Query> }>(
    `${SCHEMAS}/changes`,
    {
      schema: routeSchema(
        "Compare the schemas of two versions of an upstream provider, with the stacks that have objects of the changed types",
        "CompareProviderSchemas",
        { 200: ComparedSchemas },
        { querystring: Query },
        {
          404: "the server has no schema of one of the versions; it gets one when a run uses it",
          422: "a schema cannot be read",
          429: "too many requests, or too many comparisons at the same time",
        },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { account } = principal;
      const ended = endOfRequest(reply, stopping);
      const signal = AbortSignal.any([ended, AbortSignal.timeout(COMPARE_MS)]);
      const { provider, from, to } = request.query;
      const name = addressOf(provider);
      using _place = places.take(account);
      const compared = await compare({ account, name, from, to }, { signal });
      return await comparedSchemasView(parts, principal, compared, ended);
    },
  );

  fastify.post<{ Body: Static<typeof Named> }>(
    `${SCHEMAS}/removals`,
    {
      schema: routeSchema(
        "Forget the schema of a version of an upstream provider: the next run that uses it hands in what it has",
        "RemoveProviderSchema",
        { 204: Type.Null() },
        { body: Named },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { provider, version } = request.body;
      const name = { provider: addressOf(provider), version };
      await removeSchema(parts.audited(request), principalOf(request).account, name);
      return reply.code(204).send();
    },
  );
}

function addressOf(text: string): string {
  try {
    return ProviderAddress.parse(text).toString();
  } catch (error) {
    throw new ServerError("invalid_request", `${text} does not name a provider`, { cause: error });
  }
}

function viewOf(schema: UpstreamSchema): Static<typeof SchemaView> {
  const { provider, version, digest, bytes, handedInAtMs, other } = schema;
  return {
    provider,
    version,
    digest,
    bytes: Number(bytes),
    handed_in_at: timeOf(handedInAtMs),
    ...(other && { other: { digest: other.digest, at: timeOf(other.atMs) } }),
  };
}
