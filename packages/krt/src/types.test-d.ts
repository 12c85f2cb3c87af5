import { expectTypeOf } from "vitest";
import {
  any,
  byIndex,
  byKey,
  byLabels,
  byName,
  type Collection,
  count,
  createRuntime,
  type Event,
  type InputCollection,
  inputFetch,
  kind,
  type Labels,
  latest,
  max,
  min,
  partial,
  type Singleton,
  selecting,
  staticFetch,
  sum,
  where,
} from "./index.ts";

interface Pod {
  readonly name: string;
  readonly labels: Labels;
  readonly cpu: number;
}
interface Svc {
  readonly key: string;
  readonly selector: Labels;
}

const podKind = kind<Pod>()({ name: (pod) => pod.name, labels: (pod) => pod.labels });
const svcKind = kind<Svc>()({ key: (svc) => svc.key, selector: (svc) => svc.selector });
const rt = createRuntime();

// ---- kinds say what filters may ask ----

const pods = rt.source([], { kind: podKind });
const svcs = rt.source([], { kind: svcKind });
const plain = rt.source([{ key: "a" }]);
expectTypeOf(pods).toEqualTypeOf<InputCollection<Pod, "name" | "labels">>();
expectTypeOf(plain).toEqualTypeOf<InputCollection<{ key: string }>>();

rt.deriveSingleton((ctx) => {
  ctx.fetch(pods, byLabels({ app: "x" }), byName(undefined, "a"), byKey("a"));
  ctx.fetch(svcs, selecting({ app: "x" }));
  ctx.fetch(plain, byKey("a"));
  // @ts-expect-error services have no labels
  ctx.fetch(svcs, byLabels({ app: "x" }));
  // @ts-expect-error pods have no selector
  ctx.fetch(pods, selecting({ app: "x" }));
  // @ts-expect-error services have no name
  ctx.fetchOne(svcs, byName(undefined, "a"));
  // @ts-expect-error a collection without a kind has no traits
  ctx.fetch(plain, byLabels({}));
  // @ts-expect-error alternatives need the traits, too
  ctx.fetch(svcs, any(byLabels({ app: "x" })));
  return 1;
});

// A collection with more traits will do where fewer are asked for, and not the other way round.
expectTypeOf(pods).toExtend<Collection<Pod, "labels">>();
expectTypeOf(pods).toExtend<Collection<Pod>>();
expectTypeOf<Collection<Pod, "labels">>().not.toExtend<Collection<Pod, "labels" | "name">>();
// @ts-expect-error pods have no namespace
rt.namespaceIndex(pods);
// @ts-expect-error services have no labels
rt.labelIndex(svcs, ["app"]);

// ---- filters know their objects ----

const byCpu = rt.index(pods, (pod) => pod.cpu);
rt.deriveSingleton((ctx) => {
  expectTypeOf(ctx.fetch(pods, byIndex(byCpu, 2))).toEqualTypeOf<readonly Pod[]>();
  expectTypeOf(ctx.fetchOne(pods, byKey("a"))).toEqualTypeOf<Pod | undefined>();
  expectTypeOf(
    ctx.fetch(
      pods,
      where((pod) => pod.cpu > 1),
    ),
  ).toEqualTypeOf<readonly Pod[]>();
  expectTypeOf(
    ctx.fetchPartial(
      pods,
      partial((pod: Pod) => pod.cpu),
    ),
  ).toEqualTypeOf<readonly number[]>();
  // @ts-expect-error the index is of pods
  ctx.fetch(svcs, byIndex(byCpu, 2));
  // @ts-expect-error the index is by number
  ctx.fetch(pods, byIndex(byCpu, "2"));
  const isBig = where((pod: Pod) => pod.cpu > 1);
  // @ts-expect-error the predicate is about pods
  ctx.fetch(svcs, isBig);
  return 1;
});
expectTypeOf(byCpu.lookup(1)).toEqualTypeOf<readonly Pod[]>();
expectTypeOf(byCpu.asCollection().get("1")?.key).toEqualTypeOf<number | undefined>();

// ---- transformations ----

expectTypeOf(rt.derive(pods, (_, pod) => ({ key: pod.name }))).toEqualTypeOf<
  Collection<{ key: string }>
>();
expectTypeOf(
  rt.derive(pods, (_, pod) => (pod.cpu > 0 ? { key: pod.name } : undefined)),
).toEqualTypeOf<Collection<{ key: string }>>();
expectTypeOf(rt.derive(svcs, (_, svc): Svc | null => svc, { kind: svcKind })).toEqualTypeOf<
  Collection<Svc, "selector">
>();
expectTypeOf(rt.deriveMany(pods, (_, pod) => [pod.name])).toEqualTypeOf<Collection<string>>();
expectTypeOf(
  rt.deriveMany(pods, function* (_, pod) {
    yield pod.name;
  }),
).toEqualTypeOf<Collection<string>>();
expectTypeOf(rt.deriveSingleton((ctx) => ctx.fetch(pods).length)).toEqualTypeOf<
  Singleton<number>
>();
// @ts-expect-error a promise is no output
rt.derive(pods, async (_, pod) => pod.name);
// @ts-expect-error nor is it many
rt.deriveMany(pods, async (_, pod) => [pod.name]);
// @ts-expect-error nor for a singleton
rt.deriveSingleton(async () => 1);
// @ts-expect-error the kind is of other objects
rt.derive(pods, (_, pod) => ({ other: pod.name }), { kind: svcKind });

// ---- declared fetches ----

rt.derive(
  pods,
  (_, pod, { all, mine }) => {
    expectTypeOf(all).toEqualTypeOf<readonly Svc[]>();
    expectTypeOf(mine).toEqualTypeOf<readonly Pod[]>();
    return pod.name;
  },
  {
    fetches: {
      all: staticFetch(svcs, selecting({})),
      mine: inputFetch(pods, (pod: Pod) => [byLabels(pod.labels)]),
    },
  },
);
// @ts-expect-error services have no labels
staticFetch(svcs, byLabels({}));

// ---- status, joins, views, aggregates ----

const pair = rt.deriveWithStatus(pods, (_, pod) => ({ status: pod.cpu, output: pod.name }));
expectTypeOf(pair.output).toEqualTypeOf<Collection<string>>();
expectTypeOf(pair.status.get("a")).toEqualTypeOf<
  { readonly object: Pod; readonly status: number } | undefined
>();
expectTypeOf(rt.join([pods, pods])).toEqualTypeOf<Collection<Pod, "name" | "labels">>();
expectTypeOf(rt.view(pods, (pod) => ({ key: pod.name }))).toEqualTypeOf<
  Collection<{ key: string }>
>();
const totals = rt.aggregateBy(
  pods,
  { by: (pod) => pod.cpu },
  {
    n: count(),
    cpu: sum((pod: Pod) => pod.cpu),
    low: min((pod: Pod) => pod.name),
    high: max((pod: Pod) => pod.cpu),
  },
);
expectTypeOf(totals.get("1")?.key).toEqualTypeOf<number | undefined>();
expectTypeOf(totals.get("1")!.values.n).toEqualTypeOf<number>();
expectTypeOf(totals.get("1")!.values.low).toEqualTypeOf<string | undefined>();
expectTypeOf(totals.get("1")!.values.high).toEqualTypeOf<number | undefined>();

// ---- events ----

pods.subscribe((event: Event<Pod>) => {
  if (event.type === "add") expectTypeOf(event.old).toEqualTypeOf<undefined>();
  if (event.type === "update") expectTypeOf(event.old).toEqualTypeOf<Pod>();
  if (event.type === "delete") expectTypeOf(event.new).toEqualTypeOf<undefined>();
  expectTypeOf(latest(event)).toEqualTypeOf<Pod>();
});
