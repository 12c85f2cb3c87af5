import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { AccountPlaces } from "../account-places.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { endOfRequest } from "../end-of-request.ts";
import { ComparedSchemas, ComparedVersion, comparedSchemasView } from "./schema-change-view.ts";

/** How long two functions have to answer. */
const ASK_MS = 60_000;
/** Comparisons at the same time: each calls two functions. */
const MAX_COMPARISONS = { all: 16, account: 4 };

const Params = Type.Object({ provider: Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" }) });
const Query = Type.Object(
  { from: ComparedVersion, to: ComparedVersion },
  { additionalProperties: false },
);

/** `/private-providers/{provider}/schema-changes` */
export function schemaChangeRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf, stopping, schemaChanges } = parts;
  const places = new AccountPlaces(MAX_COMPARISONS, "comparisons of schemas");

  fastify.get<{ Params: Static<typeof Params>; Querystring: Static<typeof Query> }>(
    "/private-providers/:provider/schema-changes",
    {
      schema: routeSchema(
        "Compare the schemas of two versions of a private provider, with the stacks that have objects of the changed types",
        "ListSchemaChanges",
        { 200: ComparedSchemas },
        { params: Params, querystring: Query },
        {
          422: "this server has no table of functions",
          429: "too many requests, or too many comparisons at the same time",
          502: "a function does not answer as it should",
        },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request, reply) => {
      if (schemaChanges === undefined) {
        throw new ServerError(
          "unprocessable",
          "this server calls no functions; its operator starts it with --functions",
        );
      }
      const principal = principalOf(request);
      const ended = endOfRequest(reply, stopping);
      const signal = AbortSignal.any([ended, AbortSignal.timeout(ASK_MS)]);
      const at = { account: principal.account, name: request.params.provider, ...request.query };
      using _place = places.take(principal.account);
      return await comparedSchemasView(
        parts,
        principal,
        await schemaChanges(at, { signal }),
        ended,
      );
    },
  );
}
