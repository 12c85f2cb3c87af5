import { describe, expect, it } from "vitest";
import { createRuntime, type KrtError, kind, type Runtime } from "./index.ts";
import { trackEvents } from "./testing/tracker.ts";

interface Item {
  readonly key: string;
  readonly v: number;
}

function createRig() {
  const errors: KrtError[] = [];
  const rt = createRuntime({ onError: (error) => errors.push(error) });
  return { rt, codes: () => errors.splice(0).map(({ code }) => code) };
}

/** Runs `write` in a handler, and what it wrote. */
async function inHandler(rt: Runtime, write: () => void): Promise<void> {
  const button = rt.source<string>([]);
  button.subscribe(write, { replay: false });
  button.set("pressed");
  await rt.settled();
  button.dispose();
}

describe("transactions in handlers", () => {
  it("carry out nothing where one write fails", async () => {
    const { rt, codes } = createRig();
    const source = rt.source<Item>([{ key: "a", v: 1 }]);
    const cell = rt.cell<string>("before");
    const tracker = trackEvents(source, { replay: false });
    await inHandler(rt, () => {
      rt.transaction(() => {
        source.set({ key: "a", v: 2 });
        cell.set("after");
        source.set({ key: "", v: 3 });
        source.set({ key: "b", v: 3 });
      });
    });
    expect(codes()).toEqual(["KRT_EMPTY_KEY"]);
    expect([source.list(), cell.value]).toEqual([[{ key: "a", v: 1 }], "before"]);
    expect(tracker.take()).toEqual([]);
  });

  it("are undone within the batch around them, which continues", async () => {
    const { rt, codes } = createRig();
    const source = rt.source<Item>([]);
    const version = rt.version;
    await inHandler(rt, () => {
      rt.batch(() => {
        source.set({ key: "first", v: 1 });
        rt.transaction(() => {
          source.set({ key: "first", v: 2 });
          rt.transaction(() => source.set({ key: "inner", v: 1 }));
          source.set({ key: "", v: 1 });
        });
        source.set({ key: "last", v: 1 });
      });
    });
    expect(codes()).toEqual(["KRT_EMPTY_KEY"]);
    expect(source.list()).toEqual([
      { key: "first", v: 1 },
      { key: "last", v: 1 },
    ]);
    // The button, and one turn for all of the batch.
    expect(rt.version - version).toBeLessThanOrEqual(3);
  });

  it("leave nothing behind when they throw, and keep what is around them", async () => {
    const { rt, codes } = createRig();
    const source = rt.source<Item>([]);
    await inHandler(rt, () => {
      rt.batch(() => {
        source.set({ key: "before", v: 1 });
        expect(() =>
          rt.transaction(() => {
            source.set({ key: "within", v: 1 });
            throw new Error("stop");
          }),
        ).toThrow("stop");
        source.set({ key: "after", v: 1 });
      });
    });
    expect([...source.keys()]).toEqual(["before", "after"]);
    expect(codes()).toEqual([]);
  });

  it("fail as a whole when a collection they write is gone by then", async () => {
    const { rt, codes } = createRig();
    const source = rt.source<Item>([]);
    const doomed = rt.source<Item>([]);
    await inHandler(rt, () => {
      rt.transaction(() => {
        source.set({ key: "a", v: 1 });
        doomed.set({ key: "a", v: 1 });
      });
      doomed.dispose();
    });
    expect(codes()).toEqual(["KRT_DISPOSED"]);
    expect(source.size).toBe(0);
  });
});

describe("transactions", () => {
  it("take a forced write of an equal object back", async () => {
    const { rt } = createRig();
    const item = kind<Item>()({ key: ({ key }) => key, equals: (a, b) => a.v % 10 === b.v % 10 });
    const source = rt.source([{ key: "a", v: 1 }], { kind: item });
    const cell = rt.cell({ key: "c", v: 1 }, { kind: item });
    const trackers = [trackEvents(source, { replay: false }), trackEvents(cell, { replay: false })];
    const write = () => {
      source.set({ key: "a", v: 11 }, { force: true });
      cell.set({ key: "c", v: 11 }, { force: true });
      throw new Error("stop");
    };
    expect(() => rt.transaction(write)).toThrow("stop");
    await rt.settled();
    expect(trackers.flatMap((tracker) => tracker.take())).toEqual([]);
    expect([source.get("a")?.v, cell.value?.v]).toEqual([1, 1]);
    rt.batch(() => {
      source.set({ key: "a", v: 21 }, { force: true });
      expect(() => rt.transaction(write)).toThrow("stop");
    });
    await rt.settled();
    expect(trackers.flatMap((tracker) => tracker.take())).toEqual(["update/a"]);
    expect(source.get("a")?.v).toBe(21);
  });

  it("take markSynced back", () => {
    const { rt } = createRig();
    const source = rt.source<Item>([], { synced: false });
    const derived = rt.derive(source, (_, one) => one);
    expect(() =>
      rt.transaction(() => {
        source.set({ key: "a", v: 1 });
        source.markSynced();
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect([source.synced, derived.synced, derived.size]).toEqual([false, false, 0]);
    rt.transaction(() => source.markSynced());
    expect([source.synced, derived.synced]).toEqual([true, true]);
  });

  it("take back more writes than fit into one call, from transactions within them too", () => {
    const { rt } = createRig();
    const source = rt.source<Item>([]);
    expect(() =>
      rt.transaction(() => {
        rt.transaction(() => {
          for (let i = 0; i < 200_000; i++) source.set({ key: `${i}`, v: i });
        });
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect(source.size).toBe(0);
  });

  it("refuse a promise, whose writes they could not undo", async () => {
    const { rt } = createRig();
    const source = rt.source<Item>([]);
    const write = async () => {
      source.set({ key: "a", v: 1 });
      await Promise.resolve();
    };
    expect(() => rt.transaction(write)).toThrow(expect.objectContaining({ code: "KRT_ASYNC" }));
    expect(source.size).toBe(0);
  });
});

describe("externals", () => {
  it("are undone by a transaction that throws", () => {
    const { rt } = createRig();
    const rate = rt.external(1);
    const source = rt.source<Item>([{ key: "a", v: 1 }]);
    const priced = rt.derive(source, (ctx, { key, v }) => ({ key, price: v * rate.get(ctx) }));
    expect(() =>
      rt.transaction(() => {
        rate.set(5);
        rate.modify((value) => value + 1);
        source.set({ key: "a", v: 2 });
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect([rate.peek(), priced.get("a")?.price]).toEqual([1, 1]);
    source.set({ key: "a", v: 3 });
    expect(priced.get("a")?.price).toBe(3);
  });

  it("take effect with the writes of the same handler, not before them", async () => {
    const { rt } = createRig();
    const rate = rt.external(1);
    const source = rt.source<Item>([{ key: "a", v: 1 }]);
    const priced = rt.derive(source, (ctx, { key, v }) => ({ key, v, price: v * rate.get(ctx) }));
    const seen: (number | undefined)[] = [];
    priced.subscribe((event) => {
      seen.push(event.new?.price);
    });
    await inHandler(rt, () => {
      rt.batch(() => {
        source.set({ key: "a", v: 2 });
        rate.set(10);
      });
      expect(rate.peek(), "as sources").toBe(1);
    });
    expect(rate.peek()).toBe(10);
    expect(seen).toEqual([1, 20]);
  });

  it("have one value in all slices of a turn", async () => {
    const rt = createRuntime({ maxTurnMs: 0.001, sliceMs: 0.001 });
    const rate = rt.external(1);
    const inputs = rt.source<Item>([]);
    const sums = rt.derive(inputs, (ctx, { key, v }) => ({ key, v, rate: rate.get(ctx) }));
    const seen = new Set<string>();
    sums.subscribeBatch((events) => {
      for (const { new: now } of events) seen.add(`${now?.v} ${now?.rate}`);
    });
    await rt.settled();
    const items = Array.from({ length: 2000 }, (_, i) => ({ key: `${i}`, v: 1 }));
    const loading = inputs.load(items);
    setImmediate(() => rate.set(2));
    await loading;
    await rt.settled();
    expect(sums.get("0")?.rate).toBe(2);
    expect([...seen].sort()).toEqual(["1 1", "1 2"]);
  });
});
