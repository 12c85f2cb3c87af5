import type { SchemaChange } from "@stackwright/core";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { sortedStacks, visitResources } from "../../live/search-resources.ts";
import { AccountPlaces } from "../account-places.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { seesStack } from "../authorize.ts";
import { endOfRequest } from "../end-of-request.ts";
import { synced } from "../watch/synced.ts";
import { visibleTo } from "../watch/topic.ts";

/** Changes, and stacks that use what changed, of one answer. */
const MAX_CHANGES = 2_000;
const MAX_USES = 1_000;
/** How long two functions have to answer. */
const ASK_MS = 60_000;
/** Comparisons at the same time: each calls two functions. */
const MAX_COMPARISONS = { all: 16, account: 4 };

const Version = Type.String({ pattern: "^[0-9A-Za-z.+-]{1,64}$" });
const Params = Type.Object({ provider: Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" }) });
const Query = Type.Object({ from: Version, to: Version }, { additionalProperties: false });

const literals = <T extends string>(...values: readonly T[]) =>
  Type.Union(values.map((value) => Type.Literal(value)));

const ChangedPart = literals<SchemaChange["of"]>(
  "provider",
  "resource",
  "data",
  "ephemeral",
  "function",
);

const ChangeView = Type.Object(
  {
    of: ChangedPart,
    name: Type.String({
      description: "of the type or the function; empty for the configuration of the provider",
    }),
    path: Type.String({
      description: "dotted names of blocks and attributes; empty for the type itself",
    }),
    change: literals<SchemaChange["change"]>(
      "added",
      "removed",
      "type",
      "mode",
      "sensitive",
      "write-only",
      "deprecated",
      "nesting",
      "items",
      "version",
      "signature",
    ),
    before: Type.String(),
    after: Type.String(),
    breaks: Type.Boolean({
      description: "a configuration that was right may be refused, or mean something else",
    }),
  },
  { title: "SchemaChange" },
);

const UseView = Type.Object(
  {
    project: Type.String(),
    stack: Type.String(),
    types: Type.Array(
      Type.Object({
        name: Type.String(),
        data: Type.Boolean(),
        objects: Type.Integer(),
        breaks: Type.Boolean({ description: "one of its changes may break a configuration" }),
      }),
    ),
  },
  { title: "ChangedTypeUse" },
);

/** `/private-providers/{provider}/schema-changes` */
export function schemaChangeRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { live, clock, principalOf, stopping, schemaChanges } = parts;
  const places = new AccountPlaces(MAX_COMPARISONS, "comparisons of schemas");

  fastify.get<{ Params: Static<typeof Params>; Querystring: Static<typeof Query> }>(
    "/private-providers/:provider/schema-changes",
    {
      schema: routeSchema(
        "Compare the schemas of two versions of a private provider, with the stacks that have objects of the changed types",
        "ListSchemaChanges",
        {
          200: Type.Object({
            source: Type.String(),
            changes: Type.Array(ChangeView),
            total: Type.Integer({ description: "changes" }),
            breaking: Type.Integer({ description: "changes that may break a configuration" }),
            uses: Type.Array(UseView, { description: "stacks that the caller may see" }),
            more_uses: Type.Boolean({ description: "there are more stacks than are listed" }),
          }),
        },
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
      const { source, changes } = await schemaChanges(at, { signal });
      const changed = breaksByType(changes);
      await synced(live.stackChanges, clock, ended);
      await synced(live.resources.all, clock, ended, live.resources.listed);
      const isVisible = visibleTo(principal);
      const stacks = sortedStacks(
        live,
        (one) => isVisible(one) && seesStack(principal, one.project, one.name),
      );
      const uses: Static<typeof UseView>[] = [];
      await visitResources(live, { stacks, signal: ended }, (stack, resources) => {
        const counts = new Map<string, number>();
        for (const { provider, type, isData } of resources) {
          const key = typeKey(isData ? "data" : "resource", type);
          if (provider !== source || !changed.has(key)) continue;
          counts.set(key, (counts.get(key) ?? 0) + 1);
        }
        if (counts.size === 0) return true;
        const types = [...counts].map(([key, objects]) => {
          const [of = "", name = ""] = key.split(" ");
          return { name, data: of === "data", objects, breaks: changed.get(key) === true };
        });
        uses.push({ project: stack.project, stack: stack.name, types });
        return uses.length <= MAX_USES;
      });
      return {
        source,
        changes: changes.slice(0, MAX_CHANGES),
        total: changes.length,
        breaking: changes.filter(({ breaks }) => breaks).length,
        uses: uses.slice(0, MAX_USES),
        more_uses: uses.length > MAX_USES,
      };
    },
  );
}

function typeKey(of: SchemaChange["of"], name: string): string {
  return `${of} ${name}`;
}

/** The types that changed, with whether one of the changes breaks something. */
function breaksByType(changes: readonly SchemaChange[]): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  for (const { of, name, breaks } of changes) {
    const key = typeKey(of, name);
    found.set(key, breaks || found.get(key) === true);
  }
  return found;
}
