import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRuntime, type KrtError, kind, where } from "./index.ts";
import { ManualScheduler } from "./testing/index.ts";

interface Item {
  readonly key: string;
  readonly n: number;
}

const ITEM = kind<Item>()({ key: ({ key }) => key });
const byNumber = (a: Item, b: Item): number => a.n - b.n;
const total = (a: Item, b: Item): number => byNumber(a, b) || (a.key < b.key ? -1 : 1);

const item = fc.record({ key: fc.nat(14).map((n) => `k${n}`), n: fc.nat(12) });
const write = fc.oneof(
  { weight: 5, arbitrary: fc.record({ set: item }) },
  { weight: 3, arbitrary: fc.record({ delete: fc.nat(14).map((n) => `k${n}`) }) },
  {
    weight: 1,
    arbitrary: fc.record({ reset: fc.uniqueArray(item, { selector: ({ key }) => key }) }),
  },
);
const program = fc.record({
  initial: fc.uniqueArray(item, { selector: ({ key }) => key, maxLength: 40 }),
  turns: fc.array(
    fc.oneof(
      write.map((one) => [one]),
      fc.array(write, { minLength: 1, maxLength: 12 }),
    ),
    { maxLength: 10 },
  ),
  window: fc.constantFrom<{ offset?: number; limit?: number }>(
    {},
    { limit: 5 },
    { limit: 0 },
    { offset: 3, limit: 4 },
    { offset: 4 },
    { offset: 6, limit: 20 },
  ),
  steps: fc.constantFrom(0, 0, 1, 3),
});
const numRuns = Math.round(300 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1));
const timeout = 20_000 + 5_000 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1);

describe("ordered views", () => {
  it("are what sorting and cutting gives, in every state that can be seen", { timeout }, () => {
    fc.assert(
      fc.property(program, ({ initial, turns, window, steps }) => {
        const scheduler = new ManualScheduler(steps > 0 ? 1 : 0);
        const sliced = steps > 0 && { maxTurnMs: steps, sliceMs: steps };
        const rt = createRuntime({ scheduler, ...sliced });
        const items = rt.source(initial, { kind: ITEM });
        const view = rt.ordered(items, byNumber, window);
        const fetched = rt.deriveSingleton((ctx) =>
          ctx
            .fetch(view)
            .map(({ key }) => key)
            .join(),
        );
        scheduler.run();
        const model = new Map(initial.map((one) => [one.key, one]));
        const told = new Map<string, Item>();
        view.subscribe((event) => {
          expect(told.get(event.key)).toEqual(event.old);
          if (event.new === undefined) told.delete(event.key);
          else told.set(event.key, event.new);
        });
        const expected = (): Item[] => {
          const { offset = 0, limit = Number.POSITIVE_INFINITY } = window;
          return [...model.values()].sort(total).slice(offset, offset + limit);
        };
        let before = expected();
        for (const writes of turns) {
          rt.batch(() => {
            for (const one of writes) {
              if ("set" in one) {
                items.set(one.set);
                model.set(one.set.key, one.set);
              } else if ("delete" in one) {
                items.delete(one.delete);
                model.delete(one.delete);
              } else {
                items.reset(one.reset);
                model.clear();
                for (const each of one.reset) model.set(each.key, each);
              }
            }
          });
          const now = expected();
          do {
            const seen = view.list();
            expect([before, now]).toContainEqual(seen);
            expect([...view]).toEqual(seen);
            expect([...view.keys()].toSorted()).toEqual(seen.map(({ key }) => key).toSorted());
            expect(view.size).toBe(seen.length);
          } while (scheduler.step());
          expect(view.list()).toEqual(now);
          expect(fetched.value).toBe(now.map(({ key }) => key).join());
          expect([...told.values()].sort(total)).toEqual(now);
          before = now;
        }
        rt.dispose();
        expect(view.list()).toEqual(before);
      }),
      { numRuns },
    );
  });

  it("tell of what enters and leaves the window only", async () => {
    const rt = createRuntime();
    const items = rt.source<Item>(
      Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, n })),
      { kind: ITEM },
    );
    const first = rt.ordered(items, byNumber, { limit: 3 });
    const events: string[] = [];
    first.subscribe(({ type, key }) => void events.push(`${type} ${key}`), { replay: false });
    items.set({ key: "k500", n: 2000 });
    items.set({ key: "new", n: 1 });
    items.delete("k0");
    await rt.settled();
    expect(events).toEqual(["delete k2", "add new", "delete k0", "add k2"]);
    expect(first.list().map(({ key }) => key)).toEqual(["k1", "new", "k2"]);
  });

  it("show another order though nothing else changes", () => {
    const rt = createRuntime();
    const items = rt.source<Item>([
      { key: "a", n: 1 },
      { key: "b", n: 2 },
    ]);
    const keys = kind<Item>()({ key: ({ key }) => key, equals: (a, b) => a.key === b.key });
    const whole = rt.ordered(items, byNumber, { kind: keys });
    const two = rt.ordered(items, byNumber, { kind: keys, limit: 2 });
    for (const view of [whole, two]) expect(view.list().map(({ key }) => key)).toEqual(["a", "b"]);
    items.set({ key: "a", n: 3 });
    for (const view of [whole, two]) expect(view.list().map(({ key }) => key)).toEqual(["b", "a"]);
  });

  it("leave out what cannot be compared, and report it", () => {
    const errors: KrtError[] = [];
    const rt = createRuntime({ onError: (error) => errors.push(error) });
    const items = rt.source<Item>([{ key: "a", n: 1 }]);
    const compare = (a: Item, b: Item): number => {
      if (a.n < 0 || b.n < 0) throw new Error("no order");
      return a.n - b.n;
    };
    const view = rt.ordered(items, compare);
    items.set({ key: "b", n: -1 });
    expect(errors.map(({ code }) => code)).toEqual(["KRT_CALLBACK"]);
    items.set({ key: "c", n: 0 });
    expect(view.list().map(({ key }) => key)).toEqual(["c", "a"]);
    items.set({ key: "b", n: 5 });
    expect(view.list().map(({ key }) => key)).toEqual(["c", "a", "b"]);
    items.set({ key: "b", n: -1 });
    expect(view.list().map(({ key }) => key)).toEqual(["c", "a"]);
  });

  it("can be filtered and derived from like any other", () => {
    const rt = createRuntime();
    const items = rt.source<Item>(
      [3, 1, 2].map((n) => ({ key: `k${n}`, n })),
      { kind: ITEM },
    );
    const two = rt.ordered(items, byNumber, { limit: 2 });
    const odd = rt.deriveSingleton(
      (ctx) =>
        ctx.fetch(
          two,
          where((one: Item) => one.n % 2 === 1),
        ).length,
    );
    expect(odd.value).toBe(1);
    items.delete("k2");
    expect(odd.value).toBe(2);
    expect(() => rt.ordered(items, byNumber, { limit: -1 })).toThrow("limit must be");
    expect(() => rt.ordered(items, byNumber, { offset: 0.5 })).toThrow("offset must be");
  });
});
