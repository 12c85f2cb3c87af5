import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  byIndex,
  byLabels,
  type Collection,
  count,
  createRuntime,
  fromWatch,
  type InputCollection,
  kind,
  type Labels,
  type OutputOf,
  type Runtime,
  type Scope,
  where,
} from "./index.ts";
import { list$ } from "./rxjs/index.ts";

/*
 * Collections come and go on sources that live on and are written all the while. Afterwards everything
 * must be as before: registrations, queries and edges, and the heap, from which every collection that
 * was disposed has gone.
 */

interface Pod {
  readonly key: string;
  readonly group: string;
  readonly labels: Labels;
  readonly version: number;
}
const POD = kind<Pod>()({ key: (pod) => pod.key, labels: (pod) => pod.labels });

interface Sources {
  readonly rt: Runtime;
  readonly pods: InputCollection<Pod, "labels">;
  readonly others: InputCollection<Pod, "labels">;
}

/** What is made in each cycle. */
const BUILDS: Record<string, (scope: Scope, sources: Sources) => Collection<unknown>> = {
  "derivation with fetches": (scope, { pods, others }) => {
    const byGroup = scope.index(others, (pod) => pod.group);
    return scope.derive(pods, (ctx, pod) => ({
      key: pod.key,
      peers: ctx.fetch(others, byIndex(byGroup, pod.group), byLabels({ app: "a" })).length,
      all: ctx.fetch(
        others,
        where((one) => one.version > pod.version),
      ).length,
    }));
  },
  "one to many": (scope, { pods }) =>
    scope.deriveMany(pods, (_, pod) => [
      `${pod.key}-${pod.version}-a`,
      `${pod.key}-${pod.version}-b`,
    ]),
  singleton: (scope, { pods }) => scope.deriveSingleton((ctx) => ctx.fetch(pods).length),
  "derivation with status": (scope, { pods }) =>
    scope.deriveWithStatus(pods, (_, pod) => ({ status: pod.version, output: { key: pod.key } }))
      .status,
  "collections made by a run": (scope, { pods }) => {
    const made = scope.derive(pods, (ctx, pod) =>
      ctx
        .scope()
        .derive(pods, (_, one) => ({ key: `${pod.key}/${one.key}`, version: one.version }), {
          name: `of ${pod.key}`,
        }),
    );
    return scope.joinNested(made);
  },
  "recursive derivation": (scope, { pods, others }) =>
    scope.deriveRecursive(pods, (ctx, pod, outputOf: OutputOf<{ key: string; n: number }>) => ({
      key: pod.key,
      n: ctx.fetch(others).length + (outputOf(`${pod.key}-before`)?.n ?? pod.version),
    })),
  "ordered view": (scope, { pods }) =>
    scope.ordered(pods, (a, b) => a.version - b.version, { limit: 3 }),
  join: (scope, { pods, others }) => scope.join([pods, others]),
  "merging join": (scope, { pods, others }) =>
    scope.join([pods, others], { merge: ([first]) => first }),
  "nested join": (scope, { pods, others }) =>
    scope.joinNested(scope.source<Collection<Pod>>([pods, others]), { kind: POD }),
  view: (scope, { pods }) => scope.view(pods, ({ key, version }) => ({ key, version })),
  groups: (scope, { pods }) => scope.index(pods, (pod) => pod.group).asCollection(),
  aggregate: (scope, { pods }) =>
    scope.aggregateBy(pods, { by: (pod) => pod.group }, { number: count<Pod>() }),
  watch: (scope) =>
    fromWatch<Pod>(scope, {
      list: () => ({ objects: [], revision: "1" }),
      watch: async function* ({ signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        yield { type: "bookmark", revision: "2" };
      },
    }),
};

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

const pod = (i: number, version: number): Pod => ({
  key: `p${i}`,
  group: `g${i % 3}`,
  labels: { app: i % 2 === 0 ? "a" : "b" },
  version,
});

/** Of each, 10,000 with a hundredfold run. */
const CYCLES = 100 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1);
/** In which the engine compiles and its caches fill. */
const WARM_UP = 60;
const SIZE = 10;
/** A leaked cycle keeps tens of kilobytes; code and caches of the engine grow a little for a while. */
const CYCLE_BYTES = 4096;
const ROUNDS = 3;

describe("collections that come and go on live sources leave nothing", () => {
  it.for(Object.entries(BUILDS))(
    "%s",
    { timeout: 60_000 + CYCLES * 50 },
    async ([name, build], context) => {
      await context.annotate(`${CYCLES} cycles`, "count");
      const rt = createRuntime();
      const make = (name: string) =>
        rt.source(
          Array.from({ length: SIZE }, (__, i) => pod(i, 0)),
          { kind: POD, name },
        );
      const sources: Sources = { rt, pods: make("pods"), others: make("others") };
      let events = 0;
      const made: WeakRef<object>[] = [];
      const cycle = async (number: number): Promise<void> => {
        const scope = rt.scope();
        const stop = new AbortController();
        const collection = build(scope, sources);
        collection.subscribe(() => void events++);
        collection.subscribeBatch(() => void events++, { signal: stop.signal });
        const stream = list$(collection).subscribe(() => void events++);
        sources.pods.set(pod(number % SIZE, number));
        sources.others.set(pod((number * 7) % SIZE, number));
        await rt.settled();
        stop.abort();
        if (number % 2 === 0) stream.unsubscribe();
        scope.dispose();
        made.push(new WeakRef(collection));
      };
      const state = () => ({
        edges: rt.inspect().edges(),
        collections: rt
          .inspect()
          .collections()
          .map(({ name, level, queries, indexes, subscriptions }) => ({
            name,
            level,
            queries,
            indexes,
            subscriptions,
          })),
      });

      const before = state();
      for (let i = 1; i <= WARM_UP; i++) await cycle(i);
      // What else lives in the process grows at times: a leak grows in every round.
      let number = WARM_UP;
      let grown = Infinity;
      for (let round = 1; round <= ROUNDS && grown > CYCLES * CYCLE_BYTES; round++) {
        const heapBefore = await heapBytes();
        const refsBefore = made.length;
        for (let i = 1; i <= CYCLES; i++) await cycle((number += 1));
        const refs = (made.length - refsBefore) * WEAK_REF_BYTES;
        grown = (await heapBytes()) - heapBefore - refs;
      }

      expect(events).toBeGreaterThan(name === "watch" ? -1 : CYCLES);
      expect(state()).toEqual(before);
      const alive = made.filter((one) => one.deref() !== undefined).length;
      // What the last cycle left on the stack of the machine may still be there.
      expect(alive).toBeLessThanOrEqual(2);
      expect(grown / CYCLES).toBeLessThanOrEqual(CYCLE_BYTES);
      rt.dispose();
    },
  );
});

/** A weak reference with its place in the list of them. */
const WEAK_REF_BYTES = 64;
