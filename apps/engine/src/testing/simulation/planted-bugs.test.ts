import { describe, expect, it } from "vitest";
import type { StateChange } from "../../state/state-change.ts";
import type { Sabotage } from "./sabotage.ts";
import { randomCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

type Create = Extract<StateChange, { kind: "create" }>;

/** Tried when the seed that is known to find a bug does not do so any more. */
const SEEDS = Array.from({ length: 150 }, (_, index) => index + 1);

/**
 * Bugs as an engine could have them, each with the rule of the oracle that has to notice, and a seed that shows it.
 */
const BUGS: readonly (readonly [string, number, number, () => Sabotage])[] = [
  [
    "an intent that is not durable when the call begins",
    7,
    1,
    () => {
      const held = new Map<string, Create>();
      return {
        write: async (change, next) => {
          if (change.kind === "create") {
            held.set(change.operation.id, change);
            return [];
          }
          const create = change.kind === "settle" ? held.get(change.operation) : undefined;
          if (create !== undefined) await next(create);
          return next(change);
        },
      };
    },
  ],
  [
    "dependents that begin before what they need is recorded",
    7,
    1,
    () => ({
      write: async (change, next) => {
        const written = next(change);
        if (change.kind !== "settle") return written;
        written.catch(() => undefined);
        return [];
      },
    }),
  ],
  ["writes without the fence", 9, 12, () => ({ dropGuards: true })],
  [
    "a secret that is stored in the clear",
    6,
    1,
    () => ({
      write: async (change, next) => {
        if (change.kind !== "settle" || change.outcome.kind !== "exists") return next(change);
        const { outcome } = change;
        const value = { ...outcome.content.value, sensitive: [] };
        return next({ ...change, outcome: { ...outcome, content: { ...outcome.content, value } } });
      },
    }),
  ],
  [
    "a failed create that left something and is forgotten",
    2,
    6,
    () => ({
      write: async (change, next) => {
        const orphans =
          change.kind === "settle" && change.outcome.kind === "exists" && change.outcome.tainted;
        return next(orphans ? { ...change, outcome: { kind: "absent" } } : change);
      },
    }),
  ],
  [
    "a create that is done again because its answer was lost",
    2,
    2,
    () => ({
      write: async (change, next) => {
        const forgets = change.kind === "settle" && change.outcome.kind === "unresolved";
        return next(forgets ? { ...change, outcome: { kind: "absent" } } : change);
      },
    }),
  ],
  [
    "dependencies that are not recorded",
    7,
    11,
    () => ({ write: async (change, next) => next(withoutDependencies(change)) }),
  ],
  [
    "an outcome that is recorded before it is known",
    2,
    14,
    () => ({
      write: async (change, next) => {
        if (change.kind !== "delete") return next(change);
        const written = await next(change);
        const { key, operation } = change;
        await next({ kind: "settle", key, operation: operation.id, outcome: { kind: "absent" } });
        return written;
      },
    }),
  ],
];

describe("a planted bug is found", () => {
  it.each(BUGS)("%s", { timeout: 120_000 }, async (_title, rule, hint, sabotage) => {
    const found: string[] = [];
    for (const seed of [hint, ...SEEDS]) {
      const { violations } = await simulate(randomCase(seed), sabotage());
      found.push(...violations);
      if (violations.some((text) => text.startsWith(`(${rule})`))) return;
    }
    expect.fail(
      `rule ${rule} noticed nothing in 150 cases; others: ${found.slice(0, 3).join("; ")}`,
    );
  });

  it("and is not there without it", async () => {
    const { violations } = await simulate(randomCase(1));
    expect(violations).toEqual([]);
  });
});

function withoutDependencies(change: StateChange): StateChange {
  switch (change.kind) {
    case "create":
      return { ...change, object: { ...change.object, dependencies: [] } };
    case "depose":
      return change.create === undefined
        ? change
        : {
            ...change,
            create: { ...change.create, object: { ...change.create.object, dependencies: [] } },
          };
    case "record":
      return { ...change, patch: { ...change.patch, dependencies: [] } };
    case "settle":
      return change.outcome.kind === "exists" && change.outcome.patch !== undefined
        ? {
            ...change,
            outcome: { ...change.outcome, patch: { ...change.outcome.patch, dependencies: [] } },
          }
        : change;
    case "update":
    case "delete":
    case "restore":
    case "adopt":
    case "move":
    case "forget":
      return change;
    default:
      return change satisfies never;
  }
}
