import { isDeepStrictEqual } from "node:util";
import { decode, encode } from "@msgpack/msgpack";
import {
  convert,
  decodeJson,
  decodeMsgpack,
  encodeJson,
  encodeMsgpack,
  equal,
  type Value,
  walk,
} from "@stackwright/cty";
import { recordFigure } from "@stackwright-bench/figures";
import {
  numberList,
  objectList,
  type Plain,
  type Subject,
  stringList,
  wideObject,
} from "./subjects.ts";

/*
 * What values cost, next to plain JavaScript data with the platform's JSON and with @msgpack/msgpack, on the same data in
 * the same run. Three sizes of each shape show how the cost grows. Run with --expose-gc for the memory part.
 */

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);

interface Measured {
  readonly best: number;
  readonly median: number;
  readonly spread: number;
}

/** Processor time of this thread in milliseconds: what others do on the machine does not count. */
function now(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Shortest time that is measured at once; the clock of the processor time ticks in milliseconds. */
const SHORTEST_MS = 30;

function timed(run: () => unknown, calls: number): number {
  globalThis.gc?.();
  const start = now();
  for (let i = 0; i < calls; i += 1) run();
  return now() - start;
}

/** Milliseconds of one call: best and median of several rounds, and half of the distance between the quartiles. */
function measure(run: () => unknown): Measured {
  let calls = 1;
  while (timed(run, calls) < SHORTEST_MS) calls *= 2;
  const times = Array.from({ length: ROUNDS }, () => timed(run, calls) / calls).toSorted(
    (x, y) => x - y,
  );
  const at = (share: number): number => times[Math.round((times.length - 1) * share)] ?? 0;
  return { best: at(0), median: at(0.5), spread: (at(0.75) - at(0.25)) / 2 };
}

function plainWalk(part: Plain): number {
  if (typeof part !== "object") return 1;
  let count = 1;
  for (const child of Array.isArray(part) ? part : Object.values(part)) count += plainWalk(child);
  return count;
}

function valueWalk(value: Value): number {
  let count = 0;
  walk(value, () => {
    count += 1;
  });
  return count;
}

interface Row {
  readonly what: string;
  readonly own: Measured;
  readonly plain?: Measured;
  readonly against: string;
}

function rowsOf(subject: Subject): Row[] {
  const { plain, type, target } = subject;
  const value = subject.build();
  const other = subject.build();
  const json = JSON.stringify(plain);
  const ownJson = encodeJson(value, type);
  const packed = encode(plain);
  const ownPacked = encodeMsgpack(value, type);
  const copy = structuredClone(plain);
  return [
    {
      what: "build",
      own: measure(subject.build),
      plain: measure(() => structuredClone(plain)),
      against: "structuredClone",
    },
    {
      what: "walk",
      own: measure(() => valueWalk(value)),
      plain: measure(() => plainWalk(plain)),
      against: "recursion",
    },
    { what: "convert", own: measure(() => convert(value, target)), against: "" },
    {
      what: "compare",
      own: measure(() => equal(value, other)),
      plain: measure(() => isDeepStrictEqual(plain, copy)),
      against: "isDeepStrictEqual",
    },
    {
      what: "encode JSON",
      own: measure(() => encodeJson(value, type)),
      plain: measure(() => JSON.stringify(plain)),
      against: "JSON.stringify",
    },
    {
      what: "decode JSON",
      own: measure(() => decodeJson(ownJson, type)),
      plain: measure(() => JSON.parse(json)),
      against: "JSON.parse",
    },
    {
      what: "encode msgpack",
      own: measure(() => encodeMsgpack(value, type)),
      plain: measure(() => encode(plain)),
      against: "@msgpack/msgpack",
    },
    {
      what: "decode msgpack",
      own: measure(() => decodeMsgpack(ownPacked, type)),
      plain: measure(() => decode(packed)),
      against: "@msgpack/msgpack",
    },
  ];
}

const number = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
const shown = ({ median, spread }: Measured): string => `${number(median)} ± ${number(spread)}`;

/** Best time per element of each size, relative to the size before: 1 is linear growth. */
function growth(sizes: readonly number[], best: readonly (number | undefined)[]): string {
  return sizes
    .slice(1)
    .map((size, i) => {
      const [before = Number.NaN, after = Number.NaN] = best.slice(i);
      return number(after / before / (size / (sizes[i] ?? 1)));
    })
    .join(", ");
}

function printTimes(make: (size: number) => Subject, sizes: readonly number[]): void {
  const all = sizes.map((size) => rowsOf(make(size)));
  for (const [at, size] of sizes.entries()) {
    for (const { what, own, plain, against } of all[at] ?? []) {
      if (plain === undefined) continue;
      recordFigure({
        name: `values: ${what}, ${make(1).name}`,
        unit: "ms",
        size,
        of: "elements",
        ours: { subject: "cty", middle: own.median },
        baseline: { subject: against, middle: plain.median },
      });
    }
  }
  const largest = all.at(-1) ?? [];
  const title = `${make(1).name}, ${sizes.map((size) => size.toLocaleString("en")).join(", ")}`;
  console.log(`\n${title} (milliseconds for the last, growth per element from size to size)`);
  console.table(
    Object.fromEntries(
      largest.map((row, i) => {
        const { own, plain, against } = row;
        const ownGrowth = growth(
          sizes,
          all.map((rows) => rows[i]?.own.best),
        );
        const base =
          plain === undefined
            ? {}
            : {
                plain: shown(plain),
                ratio: number(own.median / plain.median),
                against,
                "plain growth": growth(
                  sizes,
                  all.map((rows) => rows[i]?.plain?.best),
                ),
              };
        return [row.what, { value: shown(own), growth: ownGrowth, ...base }];
      }),
    ),
  );
}

/** Bytes of heap that the results of `make` hold, per element. */
function bytesPerElement(make: () => unknown, size: number): number {
  const collect = globalThis.gc;
  if (collect === undefined) return Number.NaN;
  const kept: unknown[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  const copies = Math.max(1, Math.round(200_000 / size));
  for (let i = 0; i < copies; i += 1) kept.push(make());
  collect();
  const after = process.memoryUsage().heapUsed;
  return kept.length === 0 ? 0 : (after - before) / (copies * size);
}

function printMemory(subjects: readonly Subject[]): void {
  console.log("\nheap in bytes per element, of data that was decoded");
  const rows = subjects.flatMap(({ name, size, plain, type, build }) => {
    const [json, packed] = [JSON.stringify(plain), encode(plain)];
    const ownPacked = encodeMsgpack(build(), type);
    const sources = [
      ["msgpack", () => decodeMsgpack(ownPacked, type), () => decode(packed)],
      ["JSON", () => decodeJson(json, type), () => JSON.parse(json)],
    ] as const;
    return sources.map(([format, ownDecode, plainDecode]) => {
      const own = bytesPerElement(ownDecode, size);
      const base = bytesPerElement(plainDecode, size);
      const row = { value: number(own), plain: number(base), ratio: number(own / base) };
      return [`${name}, from ${format}`, row] as const;
    });
  });
  console.table(Object.fromEntries(rows));
}

console.log(`node ${process.version}, ${process.platform}-${process.arch}, ${ROUNDS} rounds`);
const part = process.argv[2] ?? "all";
if (part !== "memory") {
  printTimes(wideObject, [100, 1000, 10_000]);
  if (part !== "object") {
    for (const make of [stringList, numberList, objectList]) {
      printTimes(make, [1000, 10_000, 100_000]);
    }
  }
}
if (part !== "object") {
  printMemory([wideObject(10_000), stringList(100_000), numberList(100_000), objectList(100_000)]);
}
