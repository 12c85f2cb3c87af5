import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action, ResourceChange } from "../plan/change.ts";
import { resourceOf } from "../state/check-state.ts";
import type { Dependency, StateObject } from "../state/state-object.ts";
import { orderSteps, type StepGraph } from "./order.ts";

/** One object of a random stack: what it depends on before and after, each only on lower numbers of some order. */
interface Node {
  readonly action: Action;
  readonly createFirst: boolean;
  readonly old: readonly number[];
  readonly now: readonly number[];
  /** Depends on all instances of the resource instead of the one. */
  readonly whole: boolean;
  /** A read is one for a check, that failed in the plan. */
  readonly ofCheck: boolean;
}

const ACTIONS: readonly Action[] = ["no-op", "create", "update", "replace", "delete", "read"];

const node = fc.record({
  action: fc.constantFrom(...ACTIONS),
  createFirst: fc.boolean(),
  old: fc.array(fc.nat(20), { maxLength: 3 }),
  now: fc.array(fc.nat(20), { maxLength: 3 }),
  whole: fc.boolean(),
  ofCheck: fc.boolean(),
});

/** Two instances of each resource, so that dependencies on whole resources mean something. */
const address = (at: number): string => `mock.r${Math.floor(at / 2)}[${at % 2}]`;
const resource = (at: number): string => `mock.r${Math.floor(at / 2)}`;

interface Stack {
  readonly changes: readonly ResourceChange[];
  readonly objects: ReadonlyMap<string, StateObject>;
}

/** `permutation` orders the new dependencies differently from the old ones, so that both have no circles by themselves. */
function stackOf(nodes: readonly Node[], permutation: readonly number[]): Stack {
  const rank = new Map(permutation.map((at, position) => [at, position]));
  const exists = ({ action }: Node): boolean => action !== "create";
  // What is read may depend on instances of a resource of which another one is deleted.
  const stays = ({ action }: Node): boolean => action !== "delete";
  const edges = (at: number, targets: readonly number[], kind: "old" | "now"): Dependency[] => {
    const seen = new Set<string>();
    return targets.flatMap((wanted): Dependency[] => {
      const target = wanted % nodes.length;
      const other = nodes[target];
      const self = nodes[at];
      if (other === undefined || self === undefined || resource(target) === resource(at)) return [];
      const before =
        kind === "old" ? resource(target) < resource(at) : ranked(rank, target) < ranked(rank, at);
      if (!before || !(kind === "old" ? exists(other) : stays(other))) return [];
      const dependency: Dependency = self.whole
        ? { address: resource(target), scope: "resource", kind: "reference" }
        : { address: address(target), scope: "instance", kind: "reference" };
      if (seen.has(dependency.address)) return [];
      seen.add(dependency.address);
      return [dependency];
    });
  };
  const objects = new Map<string, StateObject>();
  const changes = nodes.map((one, at): ResourceChange => {
    if (exists(one))
      objects.set(address(at), objectOf(at, edges(at, one.old, "old"), one.createFirst));
    return changeOf(at, one, edges(at, one.now, "now"));
  });
  return { changes: forceNew(changes), objects };
}

/** Both instances of a resource have one place in the order, as whole resources are depended on. */
function ranked(rank: ReadonlyMap<number, number>, at: number): number {
  const first = at - (at % 2);
  return Math.min(rank.get(first) ?? 0, rank.get(first + 1) ?? Number.POSITIVE_INFINITY);
}

/** What planning does along new dependencies, over the static graph: create-first spreads to what is needed. */
function forceNew(changes: readonly ResourceChange[]): readonly ResourceChange[] {
  const forced = new Set(
    changes.filter(({ createBeforeDestroy }) => createBeforeDestroy).map(({ address: at }) => at),
  );
  for (const at of forced) {
    const change = changes.find((one) => one.address === at);
    for (const { address: name, scope } of change?.dependencies ?? []) {
      for (const other of changes) {
        if (scope === "instance" ? other.address === name : other.address.startsWith(`${name}[`))
          forced.add(other.address);
      }
    }
  }
  return changes.map((change) => {
    if (!forced.has(change.address)) return change;
    return {
      ...change,
      createBeforeDestroy: true,
      ...(change.action === "replace" && { order: "create-first" as const }),
    };
  });
}

const PROVIDER = { source: "a/b/c", version: "", alias: "" };

function changeOf(
  at: number,
  { action, createFirst }: Node,
  dependencies: readonly Dependency[],
): ResourceChange {
  return {
    address: address(at),
    deposed: "",
    mode: "managed",
    type: "mock",
    name: `r${at}`,
    module: "",
    key: at % 2,
    provider: PROVIDER,
    action,
    ...(action === "replace" && {
      order: createFirst ? ("create-first" as const) : ("delete-first" as const),
    }),
    replacePaths: [],
    causes: [],
    words: { priorPrivate: new Uint8Array(), plannedPrivate: new Uint8Array() },
    schemaVersion: 0,
    dependencies: action === "delete" ? [] : dependencies,
    createBeforeDestroy: createFirst,
    record: false,
    legacyTypeSystem: false,
  };
}

function objectOf(
  at: number,
  dependencies: readonly Dependency[],
  createBeforeDestroy: boolean,
): StateObject {
  return {
    address: address(at),
    deposed: "",
    mode: "managed",
    type: "mock",
    provider: PROVIDER,
    phase: "ready",
    privateBytes: new Uint8Array(),
    dependencies,
    createBeforeDestroy,
    observedAtMs: 0,
    epoch: 1n,
    revision: 1n,
    aliases: [],
  };
}

/** Positions of the steps in some order that the graph allows; undefined where there is a circle. */
function linearize({ size, next }: StepGraph): number[] | undefined {
  const waits = Array.from({ length: size }, () => 0);
  for (const followers of next) for (const follower of followers) waits[follower]! += 1;
  const order = waits.flatMap((count, vertex) => (count === 0 ? [vertex] : []));
  for (const vertex of order) {
    for (const follower of next[vertex] ?? []) {
      waits[follower]! -= 1;
      if (waits[follower] === 0) order.push(follower);
    }
  }
  if (order.length < size) return undefined;
  const position: number[] = [];
  for (const [at, vertex] of order.entries()) position[vertex] = at;
  return position;
}

const stacks = fc.integer({ min: 2, max: 14 }).chain((size) =>
  fc.tuple(
    // In half of the stacks nothing is created first, so that all reads wait for deletions.
    fc
      .tuple(fc.array(node, { minLength: size, maxLength: size }), fc.boolean())
      .map(([nodes, isPlain]) =>
        isPlain ? nodes.map((one) => ({ ...one, createFirst: false })) : nodes,
      ),
    fc.shuffledSubarray(
      Array.from({ length: size }, (_, at) => at),
      { minLength: size, maxLength: size },
    ),
  ),
);

/** Positions of steps by `make ADDRESS` or `remove ADDRESS`. */
function positionsOf(
  nodes: readonly Partial<Node>[],
): (kind: "make" | "remove", number: number) => number {
  const complete = nodes.map((one) => ({ ...NO_CHANGE, ...one }));
  const { changes, objects } = stackOf(complete, [...nodes.keys()]);
  const graph = orderSteps(changes, objects);
  const position = linearize(graph);
  return (kind, number) => {
    const vertex = graph.steps.findIndex(
      (step) => step.kind === kind && step.change.address === address(number),
    );
    return position?.[vertex] ?? Number.NaN;
  };
}

const NO_CHANGE: Node = {
  action: "no-op",
  createFirst: false,
  old: [],
  now: [],
  whole: false,
  ofCheck: false,
};

describe("a read during the apply", () => {
  it("comes after the deletion of an instance of what it depends on through others", () => {
    const at = positionsOf([
      {},
      { action: "delete" },
      { action: "create", now: [0] },
      {},
      { action: "read", now: [2] },
    ]);
    expect(at("remove", 1)).toBeLessThan(at("make", 4));
  });

  it("comes before the deletion of an object whose replacements are created first", () => {
    const at = positionsOf([
      {},
      { action: "delete", createFirst: true },
      { action: "create", now: [0] },
      {},
      { action: "read", now: [2] },
    ]);
    expect(at("make", 4)).toBeLessThan(at("remove", 1));
  });

  it("comes before the removal of what a replacement has deposed, and before what that used", () => {
    const at = positionsOf([
      {},
      { action: "delete" },
      { action: "replace", createFirst: true, old: [1], now: [] },
      {},
      { action: "read", now: [0, 2] },
    ]);
    expect(at("make", 2)).toBeLessThan(at("make", 4));
    expect(at("make", 4)).toBeLessThan(at("remove", 2));
    expect(at("remove", 2)).toBeLessThan(at("remove", 1));
  });

  it("is waited for by what needs it, also where that used the object that is deleted before", () => {
    const at = positionsOf([
      {},
      { action: "delete" },
      { action: "read", now: [0] },
      {},
      { action: "update", old: [1], now: [2] },
      {},
      { action: "update", old: [1] },
    ]);
    expect(at("remove", 1)).toBeLessThan(at("make", 2));
    expect(at("make", 2)).toBeLessThan(at("make", 4));
    // What does not need the read stops using the object first.
    expect(at("make", 6)).toBeLessThan(at("remove", 1));
  });
});

const RUNS = 2_000 * Number(process.env.STACKWRIGHT_RUNS ?? 1);

describe("the order of steps", () => {
  it("has no circles and keeps the rules, whatever depended on what and does now", async ({
    annotate,
  }) => {
    let reads = 0;
    let checks = 0;
    fc.assert(
      fc.property(stacks, ([nodes, permutation]) => {
        const { changes, objects } = stackOf(nodes, permutation);
        const hasCreateFirst =
          changes.some(({ order }) => order === "create-first") ||
          [...objects.values()].some(({ createBeforeDestroy }) => createBeforeDestroy);
        const dataOfChecks = new Set(
          nodes.flatMap(({ action, ofCheck }, at) =>
            action === "read" && ofCheck ? [address(at)] : [],
          ),
        );
        const graph = orderSteps(changes, objects, { open: new Set(), dataOfChecks });
        const position = linearize(graph);
        expect(position).toBeDefined();
        const at = (kind: "make" | "remove", wanted: string): number | undefined => {
          const vertex = graph.steps.findIndex(
            (step) => step.kind === kind && step.change.address === wanted,
          );
          return vertex === -1 ? undefined : position?.[vertex];
        };
        const before = (a: number | undefined, b: number | undefined): void => {
          if (a !== undefined && b !== undefined) expect(a).toBeLessThan(b);
        };
        const reached = (list: readonly Dependency[]) =>
          list.flatMap(({ address: name, scope }) =>
            scope === "instance"
              ? [name]
              : changes.map((one) => one.address).filter((one) => one.startsWith(`${name}[`)),
          );
        for (const change of changes) {
          // Made after what it needs.
          for (const name of reached(change.dependencies))
            if (!dataOfChecks.has(name)) before(at("make", name), at("make", change.address));
          // Read for a check when everything else is done, whatever depends on it.
          if (dataOfChecks.has(change.address)) {
            const own = at("make", change.address) ?? -1;
            for (const [vertex, step] of graph.steps.entries()) {
              if (dataOfChecks.has(step.change.address)) continue;
              expect(position?.[vertex]).toBeLessThan(own);
              checks += 1;
            }
          }
          if (change.action === "read" && !hasCreateFirst) {
            // Of all instances of a resource of which it depends on one, directly or through others.
            const needed = new Set(reached(change.dependencies));
            for (const name of needed) {
              const one = changes.find((each) => each.address === name);
              for (const further of reached(one?.dependencies ?? [])) needed.add(further);
            }
            const resources = new Set([...needed].map(resourceOf));
            for (const { address: name, action } of changes) {
              if (action !== "delete" || !resources.has(resourceOf(name))) continue;
              expect(at("remove", name)).toBeLessThan(at("make", change.address) ?? -1);
              reads += 1;
            }
          }
          // Ended before what it needed.
          for (const name of reached(objects.get(change.address)?.dependencies ?? [])) {
            before(at("remove", change.address), at("remove", name));
          }
          if (change.action !== "replace") continue;
          if (change.order === "create-first")
            before(at("make", change.address), at("remove", change.address));
          else before(at("remove", change.address), at("make", change.address));
        }
      }),
      { numRuns: RUNS },
    );
    expect(reads).toBeGreaterThan(RUNS / 100);
    expect(checks).toBeGreaterThan(RUNS / 100);
    await annotate(`${RUNS} stacks, ${reads} reads after deletions`, "count");
  });
});
