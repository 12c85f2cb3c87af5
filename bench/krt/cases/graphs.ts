import { computed, effect, signal, batch as signalBatch } from "@preact/signals-core";
import { byIndex, byLabels, count, createRuntime, kind } from "@stackwright/krt";
import { BehaviorSubject, distinctUntilChanged, type Observable, map as rxMap } from "rxjs";
import { measure, type Operation, showSpread, type Timing } from "../measure.ts";
import { heading, recordTimings, TIMING_HEAD, table, target, timingRows } from "../report.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}
const ITEM = kind<Item>()({ key: (item) => item.key });

const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`);

/** B5: one of 1,000 keys changes at the head of ten derivations. */
export async function runChain(): Promise<void> {
  const depth = 10;
  const names = keys(1000);
  let seen = 0;

  const rt = createRuntime();
  const source = rt.source(
    names.map((key): Item => ({ key, value: 0 })),
    { kind: ITEM },
  );
  let last: typeof source | ReturnType<typeof rt.derive<Item, Item>> = source;
  for (let i = 0; i < depth; i++) {
    last = rt.derive(last, (_, item): Item => ({ key: item.key, value: item.value + 1 }), {
      kind: ITEM,
    });
  }
  last.subscribe(() => void seen++);
  await rt.settled();

  const cells = names.map(() => signal<number>(0));
  for (const cell of cells) {
    let end = computed(() => ({ value: cell.value }));
    for (let i = 0; i < depth; i++) {
      const from = end;
      let kept: Item | undefined;
      end = computed(() => {
        const value = from.value.value + 1;
        if (kept?.value !== value) kept = { key: "", value };
        return kept;
      });
    }
    effect(() => void (seen += end.value.value === 0 ? 0 : 1));
  }

  const subjects = names.map((key) => new BehaviorSubject<Item>({ key, value: 0 }));
  for (const subject of subjects) {
    let end: Observable<Item> = subject;
    for (let i = 0; i < depth; i++) {
      end = end.pipe(
        rxMap((item) => ({ key: item.key, value: item.value + 1 })),
        distinctUntilChanged((a, b) => a.value === b.value),
      );
    }
    end.subscribe(() => void seen++);
  }

  const levels = Array.from({ length: depth + 1 }, () => new Map<string, Item>());
  const write = (key: string, value: number): void => {
    let item = { key, value };
    for (const level of levels) {
      if (level.get(key)?.value === item.value) return;
      level.set(key, item);
      item = { key, value: item.value + 1 };
    }
    seen++;
  };

  const counter = (): (() => [string, number, number]) => {
    let n = 0;
    return () => {
      n++;
      return [names[n % names.length]!, n % names.length, n];
    };
  };
  const next = [counter(), counter(), counter(), counter()] as const;
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          const [key, , n] = next[0]();
          write(key, n);
        },
      ],
      [
        "krt",
        () => {
          const [key, , n] = next[1]();
          source.set({ key, value: n });
          return rt.settled();
        },
      ],
      [
        "signals",
        () => {
          const [, i, n] = next[2]();
          cells[i]!.value = n;
        },
      ],
      [
        "rxjs",
        () => {
          const [key, i, n] = next[3]();
          subjects[i]!.next({ key, value: n });
        },
      ],
    ]),
  );
  heading("B5", "ten derivations in a row over 1,000 keys, one key changes");
  table(TIMING_HEAD, timingRows("1000", timings));
  recordTimings("a change through ten derivations", 1000, "keys", timings);
  rt.dispose();
}

/** B6: a batch of 100 writes at the head of a diamond. */
export async function runDiamond(): Promise<void> {
  const names = keys(1000);
  const width = 100;
  let runs = 0;

  const rt = createRuntime();
  const source = rt.source(
    names.map((key): Item => ({ key, value: 0 })),
    { kind: ITEM },
  );
  const a = rt.derive(source, (_, item): Item => ({ key: item.key, value: item.value + 1 }), {
    kind: ITEM,
  });
  const b = rt.derive(source, (_, item): Item => ({ key: item.key, value: item.value * 2 }), {
    kind: ITEM,
  });
  const byKeyOfB = rt.index(b, (item) => item.key);
  rt.derive(
    a,
    (ctx, item): Item => {
      runs++;
      const [other] = ctx.fetch(b, byIndex(byKeyOfB, item.key));
      return { key: item.key, value: item.value + (other?.value ?? 0) };
    },
    { kind: ITEM },
  );
  await rt.settled();

  const cells = names.map(() => signal<number>(0));

  for (const cell of cells) {
    const left = computed(() => cell.value + 1);
    const right = computed(() => cell.value * 2);
    effect(() => {
      return void (left.value + right.value);
    });
  }

  const maps = [new Map<string, Item>(), new Map<string, Item>(), new Map<string, Item>()] as const;
  let n = 0;
  let m = 0;
  let s = 0;
  runs = 0;
  let batches = 0;
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          n++;
          for (let i = 0; i < width; i++) {
            const key = names[(n * width + i) % names.length]!;
            const left = { key, value: n + 1 };
            const right = { key, value: n * 2 };
            if (maps[0].get(key)?.value !== left.value) maps[0].set(key, left);
            if (maps[1].get(key)?.value !== right.value) maps[1].set(key, right);
            const both = { key, value: left.value + right.value };
            if (maps[2].get(key)?.value !== both.value) maps[2].set(key, both);
          }
        },
      ],
      [
        "krt",
        () => {
          m++;
          batches++;
          rt.batch(() => {
            for (let i = 0; i < width; i++) {
              source.set({ key: names[(m * width + i) % names.length]!, value: m });
            }
          });
          return rt.settled();
        },
      ],
      [
        "signals",
        () => {
          s++;
          signalBatch(() => {
            for (let i = 0; i < width; i++) cells[(s * width + i) % cells.length]!.value = s;
          });
        },
      ],
    ]),
  );
  const perBatch = runs / batches;
  heading("B6", "diamond over 1,000 keys, a batch of 100 writes");
  table(TIMING_HEAD, timingRows("1000", timings));
  target(
    "B6",
    `${perBatch} of exactly 100 runs of the last derivation per batch`,
    perBatch === width,
  );
  rt.dispose();
}

interface Input {
  readonly key: string;
  readonly group: string;
}
const INPUT = kind<Input>()({ key: (input) => input.key });

async function reverseIndex(inputs: number, groups: number): Promise<Operation> {
  const rt = createRuntime();
  const dependencies = rt.source(
    Array.from({ length: groups }, (_, i): Item => ({ key: `g${i}`, value: 0 })),
    { kind: ITEM },
  );
  const byGroup = rt.index(dependencies, (item) => item.key);
  const source = rt.source(
    Array.from({ length: inputs }, (_, i): Input => ({ key: `i${i}`, group: `g${i % groups}` })),
    { kind: INPUT },
  );
  const output = rt.derive(
    source,
    (ctx, input): Item => ({
      key: input.key,
      value: ctx.fetch(dependencies, byIndex(byGroup, input.group))[0]?.value ?? -1,
    }),
    { kind: ITEM },
  );
  let events = 0;
  output.subscribe(() => void events++);
  await rt.settled();
  let n = 0;
  return () => {
    n++;
    dependencies.set({ key: `g${n % groups}`, value: n });
    return rt.settled();
  };
}

/** B7: one dependency changes, with ever more inputs. */
export async function runReverseIndex(sizes: readonly number[]): Promise<void> {
  heading("B7", "one dependency object changes; inputs fetch by index key");
  const fixed = new Map<string, Operation>();
  for (const size of sizes)
    fixed.set(`${size} inputs, 10 of them concerned`, await reverseIndex(size, size / 10));
  const flat = await measure(fixed);
  const shared = new Map<string, Operation>();
  for (const size of sizes) {
    shared.set(`${size} inputs, 1,000 groups`, await reverseIndex(size, 1000));
  }
  const grown = await measure(shared);
  table(TIMING_HEAD, [...timingRows("", flat), ...timingRows("", grown)]);
  const worst = Math.max(...Array.from(flat.values(), (timing) => timing.ratio.median));
  target(
    "B7",
    `${worst.toFixed(2)} times at most between ${sizes[0]} and ${sizes.at(-1)} inputs (flat: below 2)`,
    worst < 2,
  );
}

interface Labeled {
  readonly key: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly version: number;
}
const LABELED = kind<Labeled>()({
  key: (object) => object.key,
  namespace: (object) => object.namespace,
  labels: (object) => object.labels,
});

/** B8: 500 policies that all select the same 10,000 pods, and a burst of 1,000 pods. */
export async function runBurst(): Promise<void> {
  const policies = 500;
  const pods = 10_000;
  const burst = 1000;
  const pod = (i: number, version: number): Labeled => ({
    key: `p${i}`,
    namespace: "ns",
    labels: { app: "a" },
    version,
  });
  const rt = createRuntime();
  const source = rt.source(
    Array.from({ length: pods }, (_, i) => pod(i, 0)),
    { kind: LABELED },
  );
  const byNamespace = rt.namespaceIndex(source);
  const input = rt.source(
    keys(policies).map((key): Item => ({ key, value: 0 })),
    { kind: ITEM },
  );
  let runs = 0;
  rt.derive(
    input,
    (ctx, { key }): Item => {
      runs++;
      let value = 0;
      const selected = ctx.fetch(source, byIndex(byNamespace, "ns"), byLabels({ app: "a" }));
      for (const one of selected) value += one.version;
      return { key, value };
    },
    { kind: ITEM },
  );

  const lean = createRuntime();
  const leanSource = lean.source(
    Array.from({ length: pods }, (_, i) => pod(i, 0)),
    { kind: LABELED },
  );
  const totals = lean.aggregateBy(
    leanSource,
    { by: (one) => one.namespace },
    { pods: count<Labeled>() },
  );
  const leanInput = lean.source(
    keys(policies).map((key): Item => ({ key, value: 0 })),
    { kind: ITEM },
  );
  const byGroup = lean.index(totals, (total) => total.key);
  lean.derive(
    leanInput,
    (ctx, { key }): Item => ({
      key,
      value: ctx.fetch(totals, byIndex(byGroup, "ns"))[0]?.size ?? 0,
    }),
    { kind: ITEM },
  );
  await Promise.all([rt.settled(), lean.settled()]);

  const plain = new Map(Array.from({ length: pods }, (_, i) => [`p${i}`, pod(i, 0)]));
  const sums = new Map<string, number>();
  let a = 0;
  let b = 0;
  let c = 0;
  runs = 0;
  let bursts = 0;
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          a++;
          for (let i = 0; i < burst; i++) plain.set(`p${i * 10}`, pod(i * 10, a));
          const selected: Labeled[] = [];
          for (const one of plain.values()) {
            if (one.namespace === "ns" && one.labels["app"] === "a") selected.push(one);
          }
          for (let i = 0; i < policies; i++) {
            let value = 0;
            for (const one of selected) value += one.version;
            sums.set(`k${i}`, value);
          }
        },
      ],
      [
        "krt",
        () => {
          b++;
          bursts++;
          rt.batch(() => {
            for (let i = 0; i < burst; i++) source.set(pod(i * 10, b));
          });
          return rt.settled();
        },
      ],
      [
        "krt, aggregate",
        () => {
          c++;
          lean.batch(() => {
            for (let i = 0; i < burst; i++) leanSource.set(pod(i * 10, c));
          });
          return lean.settled();
        },
      ],
    ]),
  );
  heading("B8", "500 policies that select the same 10,000 pods, a batch of 1,000 pod updates");
  table(TIMING_HEAD, timingRows("500 x 10000", timings));
  const perBurst = runs / bursts;
  target("B8", `${perBurst} of 500 runs per turn`, perBurst === policies);
  rt.dispose();
  lean.dispose();
}

/** B12: a value over 10,000 objects follows one change. */
export async function runAggregate(sizes: readonly number[]): Promise<void> {
  heading(
    "B12",
    "number of objects, one of them comes or goes: listed anew against kept up to date",
  );
  const rows: string[][] = [];
  let last: Timing | undefined;
  for (const size of sizes) {
    const objects = keys(size).map((key, value): Item => ({ key, value }));
    const listed = createRuntime();
    const listedSource = listed.source(objects, { kind: ITEM });
    listed.deriveSingleton((ctx) => ctx.fetch(listedSource).length);
    const kept = createRuntime();
    const keptSource = kept.source(objects, { kind: ITEM });
    const aggregate = kept.aggregate(keptSource, { all: count<Item>() });
    await Promise.all([listed.settled(), kept.settled()]);
    const toggle = (rt: typeof kept, source: typeof keptSource): Operation => {
      let n = 0;
      return () => {
        if (n++ % 2 === 0) source.delete("k0");
        else source.set({ key: "k0", value: 0 });
        return rt.settled();
      };
    };
    const timings = await measure(
      new Map([
        ["kept up to date", toggle(kept, keptSource)],
        ["listed anew", toggle(listed, listedSource)],
      ]),
    );
    if (aggregate.value?.values.all !== keptSource.size) throw new Error("the aggregate is wrong");
    rows.push(...timingRows(`${size}`, timings));
    last = timings.get("listed anew");
    listed.dispose();
    kept.dispose();
  }
  table(TIMING_HEAD, rows);
  const { ratio } = last!;
  target(
    "B12",
    `${showSpread(ratio)} of at least 50 times as fast at ${sizes.at(-1)}`,
    ratio.median >= 50,
  );
}
