import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Aggregator, count, createRuntime, type KrtError, max, min, sum } from "./index.ts";
import { OrderedBag } from "./ordered-bag.ts";
import { trackEvents } from "./testing/tracker.ts";

interface Item {
  readonly key: string;
  readonly team: string;
  readonly cpu: number;
}

const VALUES = {
  n: count(),
  cpu: sum((item: Item) => item.cpu),
  low: min((item: Item) => item.cpu),
  high: max((item: Item) => item.key),
};

describe("aggregates", () => {
  it("over everything are there from the start, and follow each change", async () => {
    const rt = createRuntime();
    const source = rt.source<Item>();
    const total = rt.aggregate(source, VALUES);
    const tracker = trackEvents(total);
    expect(total.value?.values).toEqual({ n: 0, cpu: 0, low: undefined, high: undefined });
    source.set({ key: "a", team: "x", cpu: 2 });
    source.set({ key: "b", team: "x", cpu: 1 });
    expect(total.value).toEqual({
      key: "static",
      size: 2,
      values: { n: 2, cpu: 3, low: 1, high: "b" },
    });
    source.delete("b");
    source.set({ key: "a", team: "y", cpu: 2 });
    expect(total.value?.values).toEqual({ n: 1, cpu: 2, low: 2, high: "a" });
    await rt.settled();
    expect(tracker.take()).toEqual(["add/static", ...Array(3).fill("update/static")]);
  });

  it("by group come and go with their members, also where an object is in several", () => {
    const rt = createRuntime();
    const source = rt.source<Item>();
    const teams = rt.aggregateBy(source, { by: (item) => item.team.split("+") }, VALUES);
    source.set({ key: "a", team: "x+y", cpu: 2 });
    source.set({ key: "b", team: "y", cpu: 3 });
    expect(teams.get("x")?.values.cpu).toBe(2);
    expect(teams.get("y")?.values).toEqual({ n: 2, cpu: 5, low: 2, high: "b" });
    source.set({ key: "a", team: "z", cpu: 2 });
    expect([...teams.keys()].sort()).toEqual(["y", "z"]);
    source.deleteWhere(() => true);
    expect(teams.size).toBe(0);
  });

  it("can be fetched from, and cost a run only where a value changed", () => {
    const rt = createRuntime();
    const source = rt.source<Item>([{ key: "a", team: "x", cpu: 2 }]);
    const total = rt.aggregate(source, { n: count() });
    let runs = 0;
    const text = rt.deriveSingleton((ctx) => {
      runs++;
      return `${ctx.fetchOne(total)?.values.n}`;
    });
    source.set({ key: "a", team: "x", cpu: 5 });
    expect([text.value, runs]).toEqual(["1", 1]);
    source.set({ key: "b", team: "x", cpu: 5 });
    expect([text.value, runs]).toEqual(["2", 2]);
  });

  it("wait for their collection to be synced, and group keys keep their type", () => {
    const rt = createRuntime();
    const late = rt.source<Item>([], { synced: false });
    const groups = rt.aggregateBy(late, { by: ({ cpu }) => cpu }, { n: count() });
    expect(groups.synced).toBe(false);
    late.set({ key: "a", team: "x", cpu: 7 });
    late.markSynced();
    expect(groups.synced).toBe(true);
    expect(groups.get("7")?.key).toBe(7);
  });

  it("report a grouping that throws, and leave the object out", () => {
    const errors: KrtError[] = [];
    const rt = createRuntime({ onError: (error) => errors.push(error) });
    const source = rt.source<Item>();
    const by = ({ team }: Item) => {
      if (team === "bad") throw new Error("no group");
      return team;
    };
    const groups = rt.aggregateBy(source, { by }, { n: count() });
    source.set({ key: "a", team: "bad", cpu: 0 });
    source.set({ key: "b", team: "x", cpu: 0 });
    source.set({ key: "a", team: "x", cpu: 0 });
    source.delete("a");
    expect(groups.list().map(({ key, size }) => [key, size])).toEqual([["x", 1]]);
    expect(errors.map((error) => error.code)).toEqual(["KRT_CALLBACK"]);
  });

  it("recover from values that are not numbers, infinite, or too large together", () => {
    const rt = createRuntime();
    const source = rt.source<Item>([{ key: "one", team: "", cpu: 1 }]);
    const cpu = (item: Item) => item.cpu;
    const all = rt.aggregate(source, { sum: sum(cpu), min: min(cpu), max: max(cpu) });
    const now = () => Object.values(all.value?.values ?? {});
    const set = (key: string, value: number) => source.set({ key, team: "", cpu: value });
    const { NaN: nan, POSITIVE_INFINITY: inf, MAX_VALUE: huge } = Number;
    set("a", nan);
    expect(now()).toEqual([nan, nan, nan]);
    set("a", inf);
    expect(now()).toEqual([inf, 1, inf]);
    set("b", -inf);
    expect(now()).toEqual([nan, -inf, inf]);
    source.delete("a");
    expect(now()).toEqual([-inf, -inf, 1]);
    set("a", huge);
    set("b", huge);
    expect(now()).toEqual([inf, 1, huge]);
    source.delete("b");
    expect(now()).toEqual([huge, 1, huge]);
    set("a", 2);
    expect(now()).toEqual([3, 1, 2]);
  });

  it("agree with a computation from the start through any sequence of changes", () => {
    const values = [
      0,
      1,
      -1,
      0.1,
      3,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ];
    const write = fc.record({
      key: fc.constantFrom("a", "b", "c", "d"),
      team: fc.constantFrom<(string | number)[]>(1, "1", 2, "x"),
      cpu: fc.option(fc.constantFrom(...values, Number.MAX_VALUE)),
    });
    type Row = { readonly key: string; readonly team: string | number; readonly cpu: number };
    fc.assert(
      fc.property(fc.array(fc.array(write, { maxLength: 3 }), { maxLength: 12 }), (batches) => {
        const rt = createRuntime({ onError: () => {} });
        const source = rt.source<Row>([]);
        const cpu = ({ cpu: value }: Row) => value;
        const groups = rt.aggregateBy(
          source,
          { by: ({ team }) => team },
          { n: count(), sum: sum(cpu), min: min(cpu), max: max(cpu) },
        );
        const listed = rt.index(source, ({ team }) => team).asCollection();
        for (const batch of batches) {
          rt.batch(() => {
            for (const { key, team, cpu: value } of batch) {
              if (value === null) source.delete(key);
              else source.set({ key, team, cpu: value });
            }
          });
          const rows = source.list();
          const expected = [...new Set(rows.map(({ team }) => team))].map((team) => {
            const own = rows.filter((row) => row.team === team).map(cpu);
            const total = own.reduce((a, b) => a + b, 0);
            return [team, own.length, total, Math.min(...own), Math.max(...own)] as const;
          });
          const found = new Map(groups.list().map((group) => [group.key, group]));
          expect(found.size).toBe(expected.length);
          expect(groups.size).toBe(expected.length);
          expect(new Set(listed.list().map(({ key }) => key))).toEqual(new Set(found.keys()));
          for (const [team, n, total, least, most] of expected) {
            const group = found.get(team);
            expect([group?.size, group?.values.n]).toEqual([n, n]);
            expect([group?.values.min, group?.values.max]).toEqual([least + 0, most + 0]);
            if (Number.isFinite(total)) expect(group?.values.sum).toBeCloseTo(total, 8);
            else expect(group?.values.sum).toBe(total);
            expect(
              groups.get([...groups.keys()][groups.list().indexOf(group as never)] ?? ""),
            ).toBe(group);
          }
        }
      }),
      { numRuns: Math.round(100 * Number(process.env.STACKWRIGHT_RUNS ?? 1)) },
    );
  });

  it("leave an object out that an aggregator throws for, and keep the others", () => {
    const errors: KrtError[] = [];
    const rt = createRuntime({ onError: (error) => errors.push(error) });
    const source = rt.source<Item>([{ key: "a", team: "x", cpu: 1 }]);
    const picky = sum((item: Item) => {
      if (item.cpu < 0) throw new Error("negative");
      return item.cpu;
    });
    const total = rt.aggregate(source, { all: sum((item: Item) => item.cpu), picky });
    source.set({ key: "b", team: "x", cpu: -5 });
    source.set({ key: "c", team: "x", cpu: 2 });
    expect(total.value).toMatchObject({ size: 2, values: { all: 3, picky: 3 } });
    source.set({ key: "b", team: "x", cpu: 5 });
    expect(total.value).toMatchObject({ size: 3, values: { all: 8, picky: 8 } });
    source.delete("b");
    expect(total.value).toMatchObject({ size: 2, values: { all: 3, picky: 3 } });
    expect(errors.map((error) => error.code)).toEqual(["KRT_CALLBACK"]);
  });

  it("follow changes again after a value that threw", () => {
    const rt = createRuntime({ onError: () => {} });
    const source = rt.source<Item>([{ key: "a", team: "x", cpu: 1 }]);
    const shy: Aggregator<Item, number, number> = {
      create: () => 0,
      add: (n) => n + 1,
      remove: (n) => n - 1,
      value: (n) => {
        if (n === 2) throw new Error("two");
        return n;
      },
    };
    const numbers = rt.aggregateBy(source, { by: ({ team }) => team }, { shy });
    source.set({ key: "b", team: "x", cpu: 1 });
    source.set({ key: "c", team: "x", cpu: 1 });
    expect(numbers.get("x")?.values.shy).toBe(3);
  });

  it("sums stay exact for whole numbers, and close for others", () => {
    const rt = createRuntime();
    const source = rt.source<Item>();
    const total = rt.aggregate(source, { cpu: sum((item: Item) => item.cpu) });
    for (const [i, cpu] of [1e16, 1, -1e16].entries()) source.set({ key: `${i}`, team: "", cpu });
    expect(total.value?.values.cpu).toBe(1);
    source.delete("0");
    source.delete("2");
    expect(total.value?.values.cpu).toBe(1);
  });
});

describe("OrderedBag", () => {
  it("knows its first value through any sequence of changes", () => {
    const bag = new OrderedBag<number>((a, b) => a < b);
    const twin: number[] = [];
    let seed = 5;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    for (let i = 0; i < 20_000; i++) {
      if (twin.length === 0 || random(5) < 2 + (i < 10_000 ? 1 : 0)) {
        const value = random(200);
        bag.add(value);
        twin.push(value);
      } else {
        const [value] = twin.splice(random(twin.length), 1);
        bag.remove(value as number);
      }
      if (i % 10 === 0) expect(bag.first()).toBe(twin.length === 0 ? undefined : Math.min(...twin));
    }
  });
});
