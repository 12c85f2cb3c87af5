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

/** Milliseconds of one call: best and median of several, and half of the distance between the quartiles. */
function measure(run: () => unknown): Measured {
  run();
  globalThis.gc?.();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).toSorted((a, b) => a - b);
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

function printTimes(make: (size: number) => Subject, sizes: readonly number[]): void {
  const all = sizes.map((size) => rowsOf(make(size)));
  const largest = all.at(-1) ?? [];
  console.log(
    `\n${make(1).name}, ${sizes.at(-1)?.toLocaleString("en")} (milliseconds, median ± quartile distance / 2)`,
  );
  console.table(
    Object.fromEntries(
      largest.map((row, i) => {
        // Best time per element, relative to the size before: 1 is linear growth.
        const growth = sizes.slice(1).map((size, k) => {
          const before = all[k]?.[i]?.own.best ?? 0;
          const after = all[k + 1]?.[i]?.own.best ?? 0;
          return number(after / before / (size / (sizes[k] ?? 1)));
        });
        return [
          row.what,
          {
            value: shown(row.own),
            plain: row.plain === undefined ? "" : shown(row.plain),
            ratio: row.plain === undefined ? "" : number(row.own.median / row.plain.median),
            against: row.against,
            "growth per step": growth.join(", "),
          },
        ];
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
  console.log("\nheap in bytes per element, of data that was decoded from msgpack");
  console.table(
    Object.fromEntries(
      subjects.map((subject) => {
        const packed = encode(subject.plain);
        const ownPacked = encodeMsgpack(subject.build(), subject.type);
        const own = bytesPerElement(() => decodeMsgpack(ownPacked, subject.type), subject.size);
        const plain = bytesPerElement(() => decode(packed), subject.size);
        return [
          `${subject.name}, ${subject.size.toLocaleString("en")}`,
          { value: number(own), plain: number(plain), ratio: number(own / plain) },
        ];
      }),
    ),
  );
}

console.log(`node ${process.version}, ${process.platform}-${process.arch}, ${ROUNDS} rounds`);
printTimes(wideObject, [100, 1000, 10_000]);
printTimes(stringList, [1000, 10_000, 100_000]);
printTimes(numberList, [1000, 10_000, 100_000]);
printTimes(objectList, [1000, 10_000, 100_000]);
printMemory([wideObject(10_000), stringList(100_000), numberList(100_000), objectList(100_000)]);
