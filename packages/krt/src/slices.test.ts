import { beforeEach, describe, expect, it } from "vitest";
import { createRuntime, type InputCollection, type KrtError, type Runtime } from "./index.ts";
import { ManualScheduler } from "./testing/manual-scheduler.ts";
import { trackEvents } from "./testing/tracker.ts";

interface Item {
  readonly key: string;
  readonly v: number;
}

const items = (n: number, v = 0): Item[] =>
  Array.from({ length: n }, (_, i) => ({ key: `${i}`, v }));

/** Every look at the clock takes a millisecond, and a slice lasts five of them. */
describe("turns in slices", () => {
  let scheduler: ManualScheduler;
  let rt: Runtime;
  let source: InputCollection<Item>;
  const errors: KrtError[] = [];
  beforeEach(() => {
    scheduler = new ManualScheduler(1);
    rt = createRuntime({ scheduler, sliceMs: 5, onError: (error) => errors.push(error) });
    source = rt.source<Item>();
    return () => {
      expect(errors.splice(0)).toEqual([]);
      rt.dispose();
    };
  });

  /** Steps until nothing is left; returns how many there were. */
  const run = (each: () => void = () => {}): number => {
    let steps = 0;
    for (; scheduler.step(); steps++) each();
    return steps;
  };

  it("a load becomes visible at once, after many slices, in one batch", async () => {
    const derived = rt.derive(source, (_, { key, v }) => ({ key, w: v + 1 }));
    const count = rt.deriveSingleton((ctx) => ctx.fetch(derived).length);
    const tracker = trackEvents(derived);
    run();
    const loading = source.load(items(10_000));
    const sizes = new Set<string>();
    const steps = run(() => sizes.add(`${source.size} ${derived.size} ${count.value}`));
    await loading;
    expect(steps).toBeGreaterThan(20);
    expect([...sizes]).toEqual(["0 0 0", "10000 10000 10000"]);
    expect(tracker.batches.map((batch) => batch.length)).toEqual([10_000]);
  });

  it("writes made meanwhile wait, in order, and are not lost", async () => {
    const tracker = trackEvents(source);
    const loading = source.load(items(2000));
    expect(scheduler.isIdle).toBe(false);
    source.set({ key: "0", v: 7 });
    rt.batch(() => {
      source.delete("1");
      source.set({ key: "new", v: 1 });
    });
    const cell = rt.cell("made meanwhile");
    expect([source.size, cell.value]).toEqual([0, undefined]);
    run();
    await loading;
    expect(cell.value).toBe("made meanwhile");
    expect([source.size, source.get("0")?.v, source.has("1")]).toEqual([2000, 7, false]);
    expect(tracker.batches.map((batch) => batch.length)).toEqual([2000, 1, 2]);
  });

  it("a load may replace what was there", async () => {
    rt.batch(() => items(1000).forEach((item) => source.set(item)));
    const tracker = trackEvents(source, { replay: false });
    const loading = source.load([...items(500), { key: "new", v: 1 }], { replace: true });
    run();
    await loading;
    expect(source.size).toBe(501);
    const types = tracker.take().map((event) => event.split("/")[0]);
    expect(types.filter((type) => type === "delete").length).toBe(500);
    expect(types.filter((type) => type === "add").length).toBe(1);
    expect(types.filter((type) => type === "update").length).toBe(0);
  });

  it("a load that fails or is given up leaves everything as it was", async () => {
    source.set({ key: "0", v: 7 });
    const derived = rt.derive(source, (_, item) => item);
    const twice = source.load([...items(3000), { key: "5", v: 1 }]);
    run();
    await expect(twice).rejects.toMatchObject({ code: "KRT_DUPLICATE_KEY" });
    const controller = new AbortController();
    const aborted = source.load(items(3000), { signal: controller.signal });
    controller.abort(new Error("enough"));
    run();
    await expect(aborted).rejects.toThrow("enough");
    expect(source.list()).toEqual([{ key: "0", v: 7 }]);
    expect(derived.list()).toEqual([{ key: "0", v: 7 }]);
  });

  it("a load takes async iterables", async () => {
    async function* stream() {
      yield* items(10);
    }
    const loading = source.load(stream());
    for (let i = 0; i < 50; i++) {
      await Promise.resolve();
      run();
    }
    await loading;
    expect(source.size).toBe(10);
  });

  it("a sliced batch is one, and is undone when it throws", async () => {
    const seen: number[] = [];
    const derived = rt.derive(source, (_, item) => item);
    const done = rt.sliced(() => items(1000).forEach((item) => source.set(item)));
    run(() => seen.push(source.size, derived.size));
    await done;
    expect(new Set(seen)).toEqual(new Set([0, 1000]));
    const failing = rt.sliced(() => {
      source.delete("1");
      throw new Error("no");
    });
    run();
    await expect(failing).rejects.toThrow("no");
    expect(source.size).toBe(1000);
  });

  it("handlers of earlier turns are served between slices, and see the state from before", async () => {
    const seen: number[] = [];
    source.set({ key: "first", v: 0 });
    source.subscribe((event) => {
      seen.push(source.size);
      if (event.key === "first") source.set({ key: "by handler", v: 0 });
    });
    const loading = source.load(items(2000));
    run();
    await loading;
    expect(seen[0]).toBe(1);
    expect(new Set(seen.slice(1))).toEqual(new Set([2001, 2002]));
    expect(seen.length).toBe(2002);
  });

  it("a subscription made between slices gets each object once", async () => {
    source.set({ key: "old", v: 0 });
    const loading = source.load(items(2000));
    const tracker = trackEvents(source);
    run();
    await loading;
    expect(tracker.batches.map((batch) => batch.length)).toEqual([1, 2000]);
  });

  it("a collection disposed between slices keeps the state from before", async () => {
    const derived = rt.derive(source, (_, item) => item);
    const tracker = trackEvents(derived);
    const loading = source.load(items(2000));
    derived.dispose();
    expect(tracker.registration.closed).toBe(true);
    run();
    await loading;
    source.set({ key: "after", v: 0 });
    expect(derived.disposed).toBe(true);
    expect(derived.has("after")).toBe(false);
    expect(tracker.take()).toEqual([]);
  });

  it("with maxTurnMs any long turn continues in slices", async () => {
    rt = createRuntime({ scheduler, sliceMs: 5, maxTurnMs: 5 });
    source = rt.source<Item>();
    const derived = rt.derive(source, (_, item) => item);
    rt.batch(() => items(1000).forEach((item) => source.set(item)));
    expect(derived.size).toBe(0);
    const done = rt.settled();
    expect(run()).toBeGreaterThan(5);
    await done;
    expect(derived.size).toBe(1000);
    source.set({ key: "one", v: 1 });
    expect(derived.has("one"), "a short turn ends at once").toBe(true);
  });
});
