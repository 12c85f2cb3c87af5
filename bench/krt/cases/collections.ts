import { type Collection, createRuntime, kind } from "@stackwright/krt";
import { Subject } from "rxjs";
import { createRandom } from "../data.ts";
import { measure, type Operation, threadMs } from "../measure.ts";
import { heading, recordTimings, TIMING_HEAD, table, target, timingRows } from "../report.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}
const ITEM = kind<Item>()({ key: (item) => item.key });

/** B9: random writes to three collections that share part of their keys. */
export async function runJoin(): Promise<void> {
  const size = 10_000;
  const members = 3;
  /** Each member's keys begin 70 % of its size after those of the former. */
  const first = (member: number): number => member * 7000;
  const initial = (member: number): Item[] =>
    Array.from({ length: size }, (_, i) => ({ key: `k${first(member) + i}`, value: member }));
  const writes = 1000;
  let events = 0;

  const rt = createRuntime();
  const sources = Array.from({ length: members }, (_, i) => rt.source(initial(i), { kind: ITEM }));
  rt.join(sources).subscribe(() => void events++);
  await rt.settled();

  const maps = Array.from(
    { length: members },
    (_, i) => new Map(initial(i).map((one) => [one.key, one])),
  );
  const joined = new Map<string, Item>();
  const refresh = (key: string): void => {
    const winner = maps.find((one) => one.has(key))?.get(key);
    const old = joined.get(key);
    if (winner === undefined) {
      if (joined.delete(key)) events++;
    } else if (old === undefined || old.value !== winner.value) {
      joined.set(key, winner);
      events++;
    }
  };
  for (const map of maps) for (const key of map.keys()) refresh(key);

  const plan = (random: (below: number) => number) => {
    const member = random(members);
    return {
      member,
      key: `k${first(member) + random(size)}`,
      value: random(1000),
      gone: random(10) === 0,
    };
  };
  const left = createRandom(1);
  const right = createRandom(1);
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          for (let i = 0; i < writes; i++) {
            const { member, key, value, gone } = plan(left);
            if (gone) maps[member]!.delete(key);
            else maps[member]!.set(key, { key, value });
            refresh(key);
          }
        },
      ],
      [
        "krt",
        () => {
          for (let i = 0; i < writes; i++) {
            const { member, key, value, gone } = plan(right);
            if (gone) sources[member]!.delete(key);
            else sources[member]!.set({ key, value });
          }
          return rt.settled();
        },
      ],
    ]),
  );
  heading("B9", "join of 3 x 10,000 keys with 30 % overlap, 1,000 random writes");
  table(TIMING_HEAD, timingRows("3 x 10000", timings));
  rt.dispose();
}

/** B10: a member of a nested join is replaced by another. */
export async function runNestedJoin(): Promise<void> {
  const members = 20;
  const size = 1000;
  const rt = createRuntime();
  const make = (name: string, offset: number): Collection<Item> =>
    rt.source(
      Array.from({ length: size }, (_, i): Item => ({ key: `k${offset + i}`, value: offset })),
      { kind: ITEM, name },
    );
  const container = rt.source<Collection<Item>>(
    Array.from({ length: members }, (_, i) => make(`m${i}`, i * size)),
  );
  const joined = rt.joinNested(container, { kind: ITEM });
  let events = 0;
  joined.subscribe(() => void events++);
  const extra = make("extra", members * size);
  await rt.settled();

  const merged = new Map<string, Item>();
  for (const member of container) for (const item of member) merged.set(item.key, item);
  let n = 0;
  let m = 0;
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          for (const item of extra) {
            if (n % 2 === 0) merged.set(item.key, item);
            else merged.delete(item.key);
            events++;
          }
          n++;
        },
      ],
      [
        "krt",
        () => {
          if (m++ % 2 === 0) container.set(extra);
          else container.delete("extra");
          return rt.settled();
        },
      ],
    ]),
  );
  heading("B10", "nested join of 20 members, one with 1,000 objects comes or goes");
  table(TIMING_HEAD, timingRows("20 x 1000", timings));
  rt.dispose();
}

/** B11: 10,000 events to a number of handlers. */
export async function runHandlers(): Promise<void> {
  const total = 10_000;
  heading("B11", "10,000 events, one turn each, to 1, 10 and 100 handlers");
  const rows: string[][] = [];
  for (const handlers of [1, 10, 100]) {
    let seen = 0;
    const rt = createRuntime({ highWater: 100_000_000 });
    const source = rt.source([{ key: "k", value: 0 }] as Item[], { kind: ITEM });
    const subject = new Subject<Item>();
    const plain: ((item: Item) => void)[] = [];
    for (let i = 0; i < handlers; i++) {
      source.subscribe(() => void seen++);
      subject.subscribe(() => void seen++);
      plain.push(() => void seen++);
    }
    await rt.settled();
    let n = 0;
    const timings = await measure(
      new Map<string, Operation>([
        [
          "hand-written",
          () => {
            for (let i = 0; i < total; i++) {
              const item = { key: "k", value: ++n };
              for (const handle of plain) handle(item);
            }
          },
        ],
        [
          "krt",
          () => {
            for (let i = 0; i < total; i++) source.set({ key: "k", value: ++n });
            return rt.settled();
          },
        ],
        [
          "rxjs",
          () => {
            for (let i = 0; i < total; i++) subject.next({ key: "k", value: ++n });
          },
        ],
      ]),
    );
    if (seen === 0) throw new Error("no handler was called");
    rows.push(...timingRows(`${handlers}`, timings));
    recordTimings("10,000 events, one turn each", handlers, "handlers", timings);
    rt.dispose();
  }
  table(TIMING_HEAD, rows);
}

/** B13: derivations come and go on live sources. */
export async function runChurn(cycles: number): Promise<void> {
  const rt = createRuntime();
  const source = rt.source(
    Array.from({ length: 100 }, (_, i): Item => ({ key: `k${i}`, value: i })),
    { kind: ITEM },
  );
  const cycle = async (): Promise<void> => {
    const scope = rt.scope();
    const derived = scope.derive(
      source,
      (ctx, item): Item => ({ key: item.key, value: ctx.fetch(source).length }),
      { kind: ITEM },
    );
    derived.subscribe(() => {});
    await rt.settled();
    scope.dispose();
  };
  const heap = (): number => {
    globalThis.gc?.();
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  for (let i = 0; i < 100; i++) await cycle();
  const before = heap();
  const start = threadMs();
  for (let i = 0; i < cycles; i++) await cycle();
  const ms = (threadMs() - start) / cycles;
  const perCycle = (heap() - before) / cycles;
  const left = rt.inspect().collections().length - 1;
  const edges = rt.inspect().edges().length;
  heading(
    "B13",
    `${cycles} derivations of 100 keys with a handler made and disposed on a live source`,
  );
  table(
    ["", "ms per cycle", "heap bytes kept per cycle", "collections left", "edges left"],
    [["krt", ms.toFixed(3), perCycle.toFixed(1), `${left}`, `${edges}`]],
  );
  target("B13", `${left + edges} of 0 left in the graph`, left + edges === 0);
  target("B13", `${perCycle.toFixed(1)} of below 64 bytes kept per cycle`, perCycle < 64);
  rt.dispose();
}

/** B14: a status beside the output. */
export async function runStatus(): Promise<void> {
  const size = 1000;
  const initial = Array.from({ length: size }, (_, i): Item => ({ key: `k${i}`, value: i }));
  const rt = createRuntime();
  const source = rt.source(initial, { kind: ITEM });
  const { status, output } = rt.deriveWithStatus(
    source,
    (_, item) => ({
      status: { even: item.value % 2 === 0 },
      output: { key: item.key, value: item.value * 2 },
    }),
    { kind: ITEM },
  );
  let events = 0;
  status.subscribe(() => void events++);
  output.subscribe(() => void events++);
  await rt.settled();
  const statuses = new Map<string, { even: boolean; object: Item }>();
  const outputs = new Map<string, Item>();
  let n = 0;
  let m = 0;
  const timings = await measure(
    new Map<string, Operation>([
      [
        "hand-written",
        () => {
          n++;
          for (const { key, value } of initial) {
            const item = { key, value: value + n };
            const even = item.value % 2 === 0;
            const old = statuses.get(key);
            if (old === undefined || old.even !== even || old.object.value !== item.value) {
              statuses.set(key, { even, object: item });
              events++;
            }
            const made = { key, value: item.value * 2 };
            if (outputs.get(key)?.value !== made.value) {
              outputs.set(key, made);
              events++;
            }
          }
        },
      ],
      [
        "krt",
        () => {
          m++;
          for (const { key, value } of initial) source.set({ key, value: value + m });
          return rt.settled();
        },
      ],
    ]),
  );
  heading("B14", "status collection over 1,000 inputs, all updated, one write each");
  table(TIMING_HEAD, timingRows("1000", timings));
  rt.dispose();
}
