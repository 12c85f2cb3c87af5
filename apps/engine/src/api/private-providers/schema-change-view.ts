import type { SchemaChange } from "@stackwright/core";
import type { Principal } from "@stackwright/registry";
import { type Static, Type } from "typebox";
import { sortedStacks, visitResources } from "../../live/search-resources.ts";
import type { ApiParts } from "../api-parts.ts";
import { seesStack } from "../authorize.ts";
import { synced } from "../watch/synced.ts";
import { visibleTo } from "../watch/topic.ts";

/** Changes, and stacks that use what changed, of one answer. */
const MAX_CHANGES = 2_000;
const MAX_USES = 1_000;

/** A version of a provider, in the query of a request. */
export const ComparedVersion = Type.String({ pattern: "^[0-9A-Za-z.+-]{1,64}$" });

const literals = <T extends string>(...values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))));

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

export const ComparedSchemas = Type.Object({
  source: Type.String(),
  changes: Type.Array(ChangeView),
  total: Type.Integer({ description: "changes" }),
  breaking: Type.Integer({ description: "changes that may break a configuration" }),
  uses: Type.Array(UseView, { description: "stacks that the caller may see" }),
  more_uses: Type.Boolean({ description: "there are more stacks than are listed" }),
});

interface Comparison {
  /** Address of the provider. */
  readonly source: string;
  readonly changes: readonly SchemaChange[];
}

/** A comparison with the stacks that have objects of the changed types, as far as the caller sees them. */
export async function comparedSchemasView(
  { live, clock }: Pick<ApiParts, "live" | "clock">,
  principal: Principal,
  { source, changes }: Comparison,
  ended: AbortSignal,
): Promise<Static<typeof ComparedSchemas>> {
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
    changes: firstOf(changes),
    total: changes.length,
    breaking: changes.filter(({ breaks }) => breaks).length,
    uses: uses.slice(0, MAX_USES),
    more_uses: uses.length > MAX_USES,
  };
}

function typeKey(of: SchemaChange["of"], name: string): string {
  return `${of} ${name}`;
}

/** As many as an answer has: of more, those that break something before all others. */
function firstOf(changes: readonly SchemaChange[]): SchemaChange[] {
  if (changes.length <= MAX_CHANGES) return [...changes];
  const sorted = changes.toSorted((a, b) => Number(b.breaks) - Number(a.breaks));
  return sorted.slice(0, MAX_CHANGES);
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
