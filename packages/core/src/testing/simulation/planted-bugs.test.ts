import { getAttribute, Value } from "@stackwright/cty";
import type { ApplyResourceRequest, LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import type { OperationResult, StateChange } from "../../state/state-change.ts";
import type { Sabotage } from "./sabotage.ts";
import { randomCase } from "./sim-case.ts";
import { withLeases } from "./sim-leases.ts";
import { withWays } from "./sim-ways.ts";
import { type SimResult, simulate } from "./simulate.ts";

type Create = Extract<StateChange, { kind: "create" }>;
type Exists = Extract<OperationResult, { kind: "exists" }>;

/** Tried when the seed that is known to find a bug does not do so any more. */
const SEEDS = Array.from({ length: 300 }, (_, index) => index + 1);

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

/** The same for values that must not be kept, in cases that have some. */
const LEASE_BUGS: typeof BUGS = [
  [
    "what was opened is not closed, once in a while",
    10,
    1,
    () => {
      let closed = 0;
      return {
        provider: (provider) =>
          replacing(provider, {
            closeEphemeral: async (request, context) => {
              closed += 1;
              return closed === 3 ? { diagnostics: [] } : provider.closeEphemeral(request, context);
            },
          }),
      };
    },
  ],
  [
    "what was opened is closed twice",
    10,
    1,
    () => ({
      provider: (provider) =>
        replacing(provider, {
          closeEphemeral: async (request, context) => {
            await provider.closeEphemeral(request, context);
            return provider.closeEphemeral(request, context);
          },
        }),
    }),
  ],
  [
    "a value is told of something that was closed before",
    10,
    1,
    () => {
      const late: ApplyResourceRequest["config"][] = [];
      return {
        provider: (provider) =>
          replacing(provider, {
            apply: async (request, context) => {
              const [first = request.config] = late;
              if (hasToken(request.config)) late.push(request.config);
              return provider.apply({ ...request, config: first }, context);
            },
          }),
      };
    },
  ],
  [
    "an ephemeral value is stored",
    6,
    1,
    () => {
      let token = "";
      return {
        provider: (provider) => listening(provider, (told) => (token = told)),
        write: async (change, next) => {
          if (change.kind !== "settle" || change.outcome.kind !== "exists" || token === "")
            return next(change);
          const { outcome } = change;
          const { value } = outcome.content;
          const json = JSON.stringify({ ...(JSON.parse(value.json) as object), token_wo: token });
          const content = { ...outcome.content, value: { ...value, json } };
          return next({ ...change, outcome: { ...outcome, content } });
        },
      };
    },
  ],
  [
    "an ephemeral value is in a plan",
    6,
    1,
    () => {
      let token = "";
      return {
        provider: (provider) => listening(provider, (told) => (token = told)),
        plan: (plan) => {
          const variables = new Map([...plan.variables, ["kept", Value.string(token)]]);
          return { ...plan, variables };
        },
      };
    },
  ],
];

/** The same for partial, kept and repeated plans, drift, moves, and what the second opinion knows, in cases that have these. */
const WAY_BUGS: typeof BUGS = [
  [
    "taint that is forgotten",
    11,
    11,
    () => ({
      write: async (change, next) =>
        next(withOutcome(change, (outcome) => ({ ...outcome, tainted: false }))),
    }),
  ],
  [
    "an object that is tainted without a reason",
    11,
    1,
    () => ({
      write: async (change, next) =>
        next(withOutcome(change, (outcome) => ({ ...outcome, tainted: true }))),
    }),
  ],
  [
    "what a provider answers is recorded as it was planned",
    12,
    1,
    () => ({ write: async (change, next) => next(withValue(change, { serial: 0 })) }),
  ],
  ["a stale plan that is applied", 13, 117, () => ({ ignoresRevision: true })],
  [
    "targets that are ignored",
    15,
    2,
    () => ({ options: ({ targets: _targets, ...options }) => options }),
  ],
  [
    "excludes that are ignored",
    15,
    8,
    () => ({ options: ({ excludes: _excludes, ...options }) => options }),
  ],
  [
    "a refresh-only plan that changes objects",
    15,
    4,
    () => ({ options: (options) => ({ ...options, mode: "normal" }) }),
  ],
  [
    "a request to replace that is ignored",
    18,
    156,
    () => ({ options: ({ replace: _replace, ...options }) => options }),
  ],
  [
    "drift that is not read",
    12,
    3,
    () => ({ options: (options) => ({ ...options, read: { kind: "never" } }) }),
  ],
  [
    "a deposed object that does not come back when its replacement was refused",
    16,
    130,
    () => ({ write: async (change, next) => (change.kind === "restore" ? [] : next(change)) }),
  ],
  [
    "outputs that are not published",
    19,
    1,
    () => ({ finish: (result) => ({ ...result, outputs: new Map() }) }),
  ],
  ["limits that are ignored", 8, 2, () => ({ parallelism: 50 })],
  [
    "a create that is delivered twice",
    2,
    1,
    () => ({
      provider: (provider) =>
        replacing(provider, {
          apply: async (request, context) => {
            if (request.prior.isNull) await provider.apply(request, context);
            return provider.apply(request, context);
          },
        }),
    }),
  ],
  [
    "a delete that is recorded and not called",
    2,
    3,
    () => ({
      provider: (provider) =>
        replacing(provider, {
          apply: async (request, context) =>
            request.planned.isNull
              ? {
                  state: request.planned,
                  privateBytes: new Uint8Array(),
                  legacyTypeSystem: false,
                  diagnostics: [],
                }
              : provider.apply(request, context),
        }),
    }),
  ],
  [
    "a call under the epoch of an earlier lock",
    9,
    2,
    () => ({
      provider: (provider) =>
        replacing(provider, {
          apply: async ({ operation, ...request }, context) =>
            provider.apply(
              {
                ...request,
                ...(operation && { operation: { ...operation, epoch: operation.epoch - 1n } }),
              },
              context,
            ),
        }),
    }),
  ],
  [
    "an update that replaces",
    17,
    3,
    () => ({
      plan: (plan) => ({
        ...plan,
        changes: plan.changes.map((change) =>
          change.action === "update"
            ? { ...change, action: "replace", order: "delete-first" }
            : change,
        ),
      }),
    }),
  ],
  [
    "a plan that loses a delete",
    12,
    3,
    () => ({
      plan: (plan) => ({
        ...plan,
        changes: plan.changes.filter(({ action }) => action !== "delete"),
      }),
    }),
  ],
  [
    "a plan that loses an update",
    12,
    3,
    () => ({
      plan: (plan) => ({
        ...plan,
        changes: plan.changes.map((change) =>
          change.action === "update" ? { ...change, action: "no-op", record: false } : change,
        ),
      }),
    }),
  ],
  [
    "moves that are not recorded",
    17,
    84,
    () => ({ write: async (change, next) => (change.kind === "move" ? [] : next(change)) }),
  ],
];

describe("a planted bug is found", () => {
  it.each(WAY_BUGS)("%s", { timeout: 120_000 }, async (_title, rule, hint, sabotage) => {
    await find(rule, hint, async (seed) => simulate(withWays(randomCase(seed)), sabotage()));
  });

  it.each(LEASE_BUGS)("%s", { timeout: 120_000 }, async (_title, rule, hint, sabotage) => {
    await find(rule, hint, async (seed) => simulate(withLeases(randomCase(seed)), sabotage()));
  });

  it.each(BUGS)("%s", { timeout: 120_000 }, async (_title, rule, hint, sabotage) => {
    await find(rule, hint, async (seed) => simulate(randomCase(seed), sabotage()));
  });

  it("and is not there without it", async () => {
    for (const given of [randomCase(1), withWays(randomCase(1))]) {
      expect((await simulate(given)).violations).toEqual([]);
    }
  });
});

async function find(
  rule: number,
  hint: number,
  run: (seed: number) => Promise<Pick<SimResult, "violations">>,
): Promise<void> {
  const found: string[] = [];
  for (const seed of [hint, ...SEEDS]) {
    const { violations } = await run(seed);
    found.push(...violations);
    if (violations.some((text) => text.startsWith(`(${rule})`))) return;
  }
  expect.fail(
    `rule ${rule} noticed nothing in ${SEEDS.length} cases; others: ${found.slice(0, 3).join("; ")}`,
  );
}

/** The same provider with some methods replaced. */
function replacing(
  provider: LifecycleProvider,
  methods: Partial<LifecycleProvider>,
): LifecycleProvider {
  return new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

/** The same provider; somebody is told each token that it lends. */
function listening(provider: LifecycleProvider, tell: (token: string) => void): LifecycleProvider {
  return replacing(provider, {
    openEphemeral: async (request, context) => {
      const reply = await provider.openEphemeral(request, context);
      if (reply.result !== undefined) tell(getAttribute(reply.result, "token").asString());
      return reply;
    },
  });
}

function hasToken(config: Value): boolean {
  return !config.isNull && !getAttribute(config, "token_wo").isNull;
}

/** A change with another outcome, where an object exists after it. */
function withOutcome(change: StateChange, edit: (outcome: Exists) => Exists): StateChange {
  if (change.kind !== "settle" || change.outcome.kind !== "exists") return change;
  return { ...change, outcome: edit(change.outcome) };
}

/** A change that records other attributes than the provider answered. */
function withValue(
  change: StateChange,
  attributes: Readonly<Record<string, unknown>>,
): StateChange {
  return withOutcome(change, (outcome) => {
    const { content } = outcome;
    const json = JSON.stringify({ ...(JSON.parse(content.value.json) as object), ...attributes });
    return { ...outcome, content: { ...content, value: { ...content.value, json } } };
  });
}

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
    case "note":
    case "restore":
    case "adopt":
    case "move":
    case "forget":
      return change;
    default:
      return change satisfies never;
  }
}
