import fc from "fast-check";
import { expect, it } from "vitest";
import { byKey, createRuntime, type KrtError, kind, type OutputOf } from "./index.ts";
import { ManualScheduler } from "./testing/index.ts";

/** An input that sums up what it reads: always, or only while what it has summed up so far is even. */
interface Item {
  readonly key: string;
  readonly n: number;
  readonly reads: readonly { readonly of: string; readonly whenEven: boolean }[];
}

interface Sum {
  readonly key: string;
  readonly n: number;
}

const KEYS = ["a", "b", "c", "d", "e", "f"];
const ITEM = kind<Item>()({ key: ({ key }) => key });
const SUM = kind<Sum>()({ key: ({ key }) => key });

/** What a run does, given a way to read: both sides use it. The extra comes from another collection. */
function sumOf(item: Item, extra: number, read: (key: string) => Sum | undefined): Sum | undefined {
  let n = item.n + extra;
  for (const { of, whenEven } of item.reads) {
    if (whenEven && n % 2 !== 0) continue;
    n = (n * 3 + (read(of)?.n ?? 7)) % 11;
  }
  return n === 5 ? undefined : { key: item.key, n };
}

const WAITS = Symbol("waits");

/** What all outputs are, from scratch: each waits for what it reads; those that wait for themselves fail. */
function model(items: ReadonlyMap<string, Item>, extras: ReadonlyMap<string, number>) {
  const done = new Map<string, Sum | undefined>();
  const circular = new Set<string>();
  const seen = new Map<string, string>();
  for (;;) {
    const waitsFor = new Map<string, string>();
    let progress = false;
    for (const [key, item] of items) {
      if (done.has(key)) continue;
      const log: string[] = [JSON.stringify(item), `${extras.get(key)}`];
      try {
        const result = sumOf(item, extras.get(key) ?? 0, (of) => {
          if (items.has(of) && !done.has(of)) {
            waitsFor.set(key, of);
            throw WAITS;
          }
          log.push(`${of}=${done.get(of)?.n}`);
          return done.get(of);
        });
        done.set(key, result);
        seen.set(key, log.join(";"));
        progress = true;
      } catch (error) {
        if (error !== WAITS) throw error;
      }
    }
    if (waitsFor.size === 0) return { done, circular, seen };
    if (progress) continue;
    for (const start of waitsFor.keys()) {
      let at = waitsFor.get(start) as string;
      for (let i = 0; i < items.size && at !== start; i++) at = waitsFor.get(at) as string;
      if (at !== start) continue;
      circular.add(start);
      done.set(start, undefined);
    }
  }
}

const item = (acyclic: boolean) =>
  fc
    .record({
      at: fc.nat(KEYS.length - 1),
      n: fc.nat(10),
      reads: fc.array(fc.record({ of: fc.nat(KEYS.length - 1), whenEven: fc.boolean() }), {
        maxLength: 3,
      }),
    })
    .map(
      ({ at, n, reads }): Item => ({
        key: KEYS[at] as string,
        n,
        reads: reads
          .filter(({ of }) => !acyclic || of > at)
          .map(({ of, whenEven }) => ({ of: KEYS[of] as string, whenEven })),
      }),
    );

const stepOf = (acyclic: boolean) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ set: item(acyclic) }) },
    { weight: 1, arbitrary: fc.record({ delete: fc.constantFrom(...KEYS) }) },
    { weight: 2, arbitrary: fc.record({ extra: fc.constantFrom(...KEYS), n: fc.nat(3) }) },
  );

type ValueOf<A> = A extends fc.Arbitrary<infer V> ? V : never;
type Step = ValueOf<ReturnType<typeof stepOf>>;

function run(turns: readonly (readonly Step[])[], slices: number, acyclic: boolean): void {
  const scheduler = new ManualScheduler(slices > 0 ? 1 : 0);
  const errors: KrtError[] = [];
  const rt = createRuntime({
    scheduler,
    onError: (error) => errors.push(error),
    ...(slices > 0 && { maxTurnMs: slices, sliceMs: slices }),
  });
  const items = rt.source<Item>([], { kind: ITEM });
  const extras = rt.source<Sum>([], { kind: SUM });
  let runs: string[] = [];
  const sums = rt.deriveRecursive(
    items,
    (ctx, input, outputOf: OutputOf<Sum>) => {
      const extra = ctx.fetchOne(extras, byKey(input.key))?.n ?? 0;
      const sum = sumOf(input, extra, outputOf);
      runs.push(input.key);
      return sum;
    },
    { kind: SUM },
  );
  const told = new Map<string, number>();
  sums.subscribe((event) => {
    expect(told.get(event.key)).toBe(event.old?.n);
    if (event.new === undefined) told.delete(event.key);
    else told.set(event.key, event.new.n);
  });
  const known = new Map<string, Item>();
  const knownExtras = new Map<string, number>();
  let before = new Map<string, string>();
  for (const steps of turns) {
    runs = [];
    rt.batch(() => {
      for (const step of steps) {
        if ("set" in step) {
          items.set(step.set);
          known.set(step.set.key, step.set);
        } else if ("delete" in step) {
          items.delete(step.delete);
          known.delete(step.delete);
        } else {
          extras.set({ key: step.extra, n: step.n });
          knownExtras.set(step.extra, step.n);
        }
      }
    });
    scheduler.run();
    const { done, circular, seen } = model(known, knownExtras);
    const expected = [...done].filter(([, sum]) => sum !== undefined);
    expect(new Map(sums.list().map(({ key, n }) => [key, n]))).toEqual(
      new Map(expected.map(([key, sum]) => [key, sum?.n])),
    );
    expect(told).toEqual(new Map(expected.map(([key, sum]) => [key, sum?.n])));
    expect(new Set(rt.errors.list().map(({ input }) => input))).toEqual(circular);
    expect(errors.every(({ code }) => code === "KRT_CYCLE")).toBe(true);
    if (acyclic) {
      const due = [...seen].filter(([key, log]) => before.get(key) !== log).map(([key]) => key);
      expect(runs.toSorted()).toEqual(due.toSorted());
    }
    before = seen;
  }
  rt.dispose();
}

const slices = fc.constantFrom(0, 0, 1, 2, 3);
const turnsOf = (acyclic: boolean) =>
  fc.array(fc.array(stepOf(acyclic), { minLength: 1, maxLength: 5 }), { maxLength: 10 });
const numRuns = Math.round(500 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1));
const timeout = 20_000 + 5_000 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1);

it("recursive outputs without circles are those of a naive model, each run once and only when due", {
  timeout,
}, () => {
  fc.assert(
    fc.property(turnsOf(true), slices, (turns, steps) => run(turns, steps, true)),
    { numRuns },
  );
});

it("in a circle all members fail and no other key, whatever ran first, for as long as they last", {
  timeout,
}, () => {
  fc.assert(
    fc.property(turnsOf(false), slices, (turns, steps) => run(turns, steps, false)),
    { numRuns },
  );
});
