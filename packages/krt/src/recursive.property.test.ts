import fc from "fast-check";
import { expect, it } from "vitest";
import { byKey, createRuntime, type KrtError, kind, type OutputOf } from "./index.ts";
import { ManualScheduler } from "./testing/index.ts";

/** An input that sums up what it reads: always, or only while what it has summed up so far is even. */
interface Item {
  readonly key: string;
  /** Key of its output: its own, or one that others have too. */
  readonly yields: string;
  readonly n: number;
  readonly reads: readonly { readonly of: string; readonly whenEven: boolean }[];
}

interface Sum {
  readonly key: string;
  readonly n: number;
}

/** What inputs read and yield. */
interface Shape {
  /** Nothing reads an input that comes before it. */
  readonly acyclic: boolean;
  /** Several inputs may yield the same key. */
  readonly shared: boolean;
}

const KEYS = ["a", "b", "c", "d", "e", "f"];
/** Output keys of several inputs. */
const SHARED = ["x", "y"];
const ITEM = kind<Item>()({ key: ({ key }) => key });
const SUM = kind<Sum>()({ key: ({ key }) => key });

/** What a run does, given a way to read: both sides use it. The extra comes from another collection. */
function sumOf(item: Item, extra: number, read: (key: string) => Sum | undefined): Sum | undefined {
  let n = item.n + extra;
  for (const { of, whenEven } of item.reads) {
    if (whenEven && n % 2 !== 0) continue;
    n = (n * 3 + (read(of)?.n ?? 7)) % 11;
  }
  return n === 5 ? undefined : { key: item.yields, n };
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
          log.push(`${of}=${JSON.stringify(done.get(of))}`);
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

const item = ({ acyclic, shared }: Shape) =>
  fc
    .record({
      at: fc.nat(KEYS.length - 1),
      as: shared ? fc.constantFrom(undefined, ...SHARED) : fc.constant(undefined),
      n: fc.nat(10),
      reads: fc.array(fc.record({ of: fc.nat(KEYS.length - 1), whenEven: fc.boolean() }), {
        maxLength: 3,
      }),
    })
    .map(
      ({ at, as, n, reads }): Item => ({
        key: KEYS[at] as string,
        yields: as ?? (KEYS[at] as string),
        n,
        reads: reads
          .filter(({ of }) => !acyclic || of > at)
          .map(({ of, whenEven }) => ({ of: KEYS[of] as string, whenEven })),
      }),
    );

const stepOf = (shape: Shape) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ set: item(shape) }) },
    { weight: 1, arbitrary: fc.record({ delete: fc.constantFrom(...KEYS) }) },
    { weight: 2, arbitrary: fc.record({ extra: fc.constantFrom(...KEYS), n: fc.nat(3) }) },
  );

type ValueOf<A> = A extends fc.Arbitrary<infer V> ? V : never;
type Step = ValueOf<ReturnType<typeof stepOf>>;

function run(turns: readonly (readonly Step[])[], slices: number, { acyclic }: Shape): void {
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
  /** Inputs that had an output key of several: they run again when another lets it go. */
  const sharers = new Set<string>();
  let before = new Map<string, string>();
  for (const steps of turns) {
    runs = [];
    rt.batch(() => {
      for (const step of steps) {
        if ("set" in step) {
          items.set(step.set);
          known.set(step.set.key, step.set);
          if (step.set.yields !== step.set.key) sharers.add(step.set.key);
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
    const yielded = new Map<string, number[]>();
    for (const sum of done.values()) {
      if (sum !== undefined) yielded.set(sum.key, [...(yielded.get(sum.key) ?? []), sum.n]);
    }
    // Of several inputs with a key it is that of one of them.
    const shown = new Map(sums.list().map(({ key, n }) => [key, n]));
    expect(new Set(shown.keys())).toEqual(new Set(yielded.keys()));
    for (const [key, n] of shown) expect(yielded.get(key)).toContain(n);
    expect(told).toEqual(shown);
    expect(new Set(rt.errors.list().map(({ input }) => input))).toEqual(circular);
    const isShared = [...yielded.values()].some(({ length }) => length > 1);
    const codes = new Set(errors.splice(0).map(({ code }) => code));
    if (!isShared) expect(codes).not.toContain("KRT_DUPLICATE_OUTPUT");
    if (acyclic) {
      expect(codes).not.toContain("KRT_CYCLE");
      const due = [...seen].filter(([key, log]) => before.get(key) !== log).map(([key]) => key);
      expect(runs).toEqual(expect.arrayContaining(due));
      const isAlone = (key: string): boolean => !sharers.has(key);
      expect(runs.filter(isAlone).toSorted()).toEqual(due.filter(isAlone).toSorted());
    }
    before = seen;
  }
  rt.dispose();
}

const slices = fc.constantFrom(0, 0, 1, 2, 3);
const turnsOf = (shape: Shape) =>
  fc.array(fc.array(stepOf(shape), { minLength: 1, maxLength: 5 }), { maxLength: 10 });
const numRuns = Math.round(500 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1));
const timeout = 20_000 + 5_000 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1);

function check(shape: Shape): void {
  fc.assert(
    fc.property(turnsOf(shape), slices, (turns, steps) => run(turns, steps, shape)),
    { numRuns },
  );
}

it("recursive outputs without circles are those of a naive model, each run once and only when due", {
  timeout,
}, () => {
  check({ acyclic: true, shared: false });
});

it("in a circle all members fail and no other key, whatever ran first, for as long as they last", {
  timeout,
}, () => {
  check({ acyclic: false, shared: false });
});

it("an input is read as what it yields, also where another one has its output key", {
  timeout,
}, () => {
  check({ acyclic: true, shared: true });
});

it("output keys of several inputs and circles together leave what is read right", {
  timeout,
}, () => {
  check({ acyclic: false, shared: true });
});
