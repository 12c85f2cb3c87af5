import { beforeEach, describe, expect, it } from "vitest";
import {
  byIndex,
  byKey,
  type Collection,
  type Event,
  type TransformationContext,
} from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import { configMapSource, createRig, type Rig } from "./fixtures.ts";

let rig: Rig;
beforeEach(() => {
  rig = createRig();
  return () => rig.rt.dispose();
});

describe("turns", () => {
  it("S160 writes of one batch to one key are one change, or none", async () => {
    const { rt } = rig;
    const source = rt.source<{ key: string; v: number }>();
    let runs = 0;
    const derived = rt.derive(source, (_, object) => {
      runs++;
      return object;
    });
    const tracker = trackEvents(derived);
    rt.batch(() => {
      for (const v of [1, 2, 3]) source.set({ key: "k", v });
    });
    await rt.settled();
    expect(runs).toBe(1);
    expect(tracker.events.map((event) => event.new)).toEqual([{ key: "k", v: 3 }]);
    expect(tracker.take()).toEqual(["add/k"]);
    const own = trackEvents(source, { replay: false });
    rt.batch(() => {
      source.set({ key: "l", v: 1 });
      source.delete("l");
      source.set({ key: "k", v: 9 });
      source.set({ key: "k", v: 3 });
    });
    await rt.settled();
    expect([...tracker.take(), ...own.take()]).toEqual([]);
    rt.batch(() => {
      source.delete("k");
      source.set({ key: "k", v: 4 });
    });
    await rt.settled();
    expect(own.take()).toEqual(["update/k"]);
  });

  it("S161 a handler sees all collections in one turn", async () => {
    const { rt } = rig;
    const source = rt.cell({ key: "s", v: 0 });
    const double = rt.derive(source, (_, { v }) => ({ key: "d", v: v * 2 }));
    const sum = rt.derive(double, (ctx, { v }) => ({
      key: "sum",
      v: v + (ctx.fetchOne(source)?.v ?? 0),
    }));
    const seen: boolean[] = [];
    const check = () => {
      const base = source.value?.v ?? 0;
      seen.push(double.get("d")?.v === base * 2 && sum.get("sum")?.v === base * 3);
    };
    for (const one of [source, double, sum]) (one as Collection<unknown>).subscribe(check);
    for (let v = 1; v <= 5; v++) {
      source.set({ key: "s", v });
      if (v === 3) await rt.settled();
    }
    await rt.settled();
    expect(seen.length).toBeGreaterThan(6);
    expect(seen).not.toContain(false);
  });

  it("S162 a burst under one index key runs each input once", () => {
    const { rt } = rig;
    const objects = rt.source(Array.from({ length: 10_000 }, (_, i) => ({ key: `${i}`, v: 0 })));
    const index = rt.index(objects, () => "all");
    const inputs = rt.source(Array.from({ length: 500 }, (_, i) => i));
    let runs = 0;
    rt.derive(inputs, (ctx, i) => {
      runs++;
      return { key: `${i}`, n: ctx.fetch(objects, byIndex(index, "all")).length };
    });
    runs = 0;
    rt.batch(() => {
      for (let i = 0; i < 1000; i++) objects.set({ key: `${i}`, v: 1 });
    });
    expect(runs).toBe(500);
  });

  it("a batch shows written sources at once, and what is derived when it ends", () => {
    const { rt } = rig;
    const source = rt.source(["a"]);
    const count = rt.deriveSingleton((ctx) => ctx.fetch(source).length);
    const index = rt.index(source, (s) => s);
    rt.batch(() => {
      source.set("b");
      expect([source.size, index.lookup("b").length, count.value]).toEqual([2, 1, 1]);
      rt.batch(() => source.set("c"));
      expect(count.value, "an inner batch ends nothing").toBe(1);
    });
    expect(count.value).toBe(3);
  });

  it("a view within a batch shows the state before it, as everything derived does", async () => {
    const { rt } = rig;
    const source = rt.source([{ key: "a", v: 1 }]);
    const view = rt.view(source, ({ key, v }) => ({ key, w: v * 2 }));
    const index = rt.index(view, (object) => object.w);
    const tracker = rt.batch(() => {
      source.set({ key: "a", v: 2 });
      source.set({ key: "b", v: 3 });
      expect(view.list()).toEqual([{ key: "a", w: 2 }]);
      expect([view.get("a"), view.size]).toEqual([{ key: "a", w: 2 }, 1]);
      expect(index.lookup(2)).toEqual([{ key: "a", w: 2 }]);
      return trackEvents(view);
    });
    await rt.settled();
    expect(tracker.take()).toEqual(["add/a", "update/a", "add/b"]);
    expect(view.list()).toEqual([
      { key: "a", w: 4 },
      { key: "b", w: 6 },
    ]);
  });

  it("a subscription made within a batch gets each object once", async () => {
    const { rt } = rig;
    const source = rt.source(["a"]);
    const tracker = rt.batch(() => {
      source.set("b");
      return trackEvents(source);
    });
    await rt.settled();
    expect(tracker.batches.map((batch) => batch.map((event) => event.key))).toEqual([["a"], ["b"]]);
  });

  it("a batch that throws keeps what it wrote; a transaction keeps nothing", async () => {
    const { rt } = rig;
    const source = rt.source([
      { key: "a", v: 1 },
      { key: "b", v: 1 },
    ]);
    const cell = rt.cell<string>("before");
    const copy = rt.derive(source, (_, object) => object);
    const tracker = trackEvents(copy, { replay: false });
    const write = () => {
      source.set({ key: "a", v: 2 });
      source.set({ key: "b", v: 1 }, { force: true });
      source.delete("b");
      source.set({ key: "c", v: 1 });
      cell.set("after");
      throw new Error("stop");
    };
    expect(() => rt.transaction(write)).toThrow("stop");
    expect(copy.list()).toEqual([
      { key: "a", v: 1 },
      { key: "b", v: 1 },
    ]);
    expect(cell.value).toBe("before");
    await rt.settled();
    expect(tracker.take()).toEqual([]);

    rt.batch(() => {
      source.set({ key: "d", v: 1 });
      expect(() => rt.transaction(write)).toThrow("stop");
    });
    expect([...copy.keys()]).toEqual(["a", "b", "d"]);
    expect(() => rt.batch(write)).toThrow("stop");
    expect([...copy.keys()]).toEqual(["a", "d", "c"]);
    expect(rt.transaction(() => "result")).toBe("result");
  });

  it("a dependency met first in a run may lie above the node, and is final when it is read", () => {
    const { rt } = rig;
    const source = rt.source([{ key: "k", v: 1, deep: false }]);
    // A long chain over the same source.
    let chain: Collection<{ key: string; v: number }> = source;
    for (let i = 0; i < 5; i++) chain = rt.derive(chain, (_, { key, v }) => ({ key, v: v + 1 }));
    const seen: (number | undefined)[] = [];
    const shallow = rt.derive(source, (ctx, { key, v, deep }) => {
      const end = deep ? ctx.fetchOne(chain, byKey(key))?.v : undefined;
      if (deep) seen.push(end);
      return { key, v, end };
    });
    const after = rt.derive(shallow, (_, { key, v, end }) => ({ key, gap: (end ?? v) - v }));
    rt.batch(() => source.set({ key: "k", v: 10, deep: true }));
    expect(shallow.get("k")).toEqual({ key: "k", v: 10, end: 15 });
    expect(after.get("k")?.gap).toBe(5);
    expect(seen, "the run that was too early saw nothing").toEqual([15]);
    const info = rt.inspect().collections();
    expect(info.map(({ level }) => level)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});

describe("failures", () => {
  it("S163 a throwing transformation keeps its last output and is run again on a change", async () => {
    const { rt, errors } = rig;
    const inputs = rt.source([{ key: "i", v: 1 }]);
    const maps = configMapSource(rt);
    const derived = rt.derive(
      inputs,
      (ctx, { key, v }) => {
        const n = ctx.fetch(maps).length;
        if (n === 1) throw new Error("one is none");
        return { key, v, n };
      },
      { name: "Fussy" },
    );
    maps.set({ name: "a" });
    expect(derived.get("i")).toEqual({ key: "i", v: 1, n: 0 });
    expect(errors.length).toBe(1);
    expect(errors[0]).toMatchObject({
      code: "KRT_TRANSFORMATION",
      details: { collection: "Fussy", key: "i" },
      cause: new Error("one is none"),
    });
    await rt.settled();
    expect(rt.errors.list().map(({ collection, input }) => [collection, input])).toEqual([
      ["Fussy", "i"],
    ]);
    expect(rt.inspect().explain(derived, "i")?.failure?.code).toBe("KRT_TRANSFORMATION");
    maps.set({ name: "b" });
    expect(derived.get("i")?.n).toBe(2);
    await rt.settled();
    expect(rt.errors.list()).toEqual([]);
    expect(errors.length).toBe(1);
  });

  it("the output may be deleted instead", () => {
    const { rt } = rig;
    const inputs = rt.source([{ key: "i", ok: true }]);
    const derived = rt.derive(
      inputs,
      (_, { key, ok }) => {
        if (!ok) throw new Error("no");
        return key;
      },
      { onFailure: "delete" },
    );
    inputs.set({ key: "i", ok: false });
    expect(derived.size).toBe(0);
    inputs.set({ key: "i", ok: true });
    expect(derived.size).toBe(1);
  });

  it("an output whose key or equality throws is a failure of its input", () => {
    const { rt, errors } = rig;
    const inputs = rt.source([{ key: "i", keyed: true }]);
    const derived = rt.derive(inputs, (_, { keyed }) => (keyed ? { key: "o" } : { nothing: 1 }));
    inputs.set({ key: "i", keyed: false });
    expect(derived.list()).toEqual([{ key: "o" }]);
    expect(errors.map((error) => error.code)).toEqual(["KRT_NO_KEY"]);
  });

  it("S165 a cycle is an error with its path, and nothing hangs", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["i"]);
    const others: Collection<string>[] = [];
    const a: Collection<string> = rt.derive(
      inputs,
      (ctx, key) => (others[0] === undefined ? key : `${key}${ctx.fetch(others[0]).length}`),
      { name: "A" },
    );
    others[0] = rt.derive(inputs, (ctx, key) => `${key}${ctx.fetch(a).length}`, { name: "B" });
    expect(errors).toEqual([]);
    inputs.set("j");
    expect(errors.map((error) => error.code)).toEqual(["KRT_CYCLE"]);
    expect(errors[0]?.details.path).toEqual(["A", "B", "A"]);
    expect(errors[0]?.message).toContain("A -> B -> A");
  });

  it("a cycle of collections that are not synced is found as well", () => {
    const { rt, errors } = rig;
    const late = rt.source<string>([], { synced: false });
    const others: Record<string, Collection<string>> = {};
    const fetching = (name: string, other: string) =>
      rt.derive(
        late,
        (ctx: TransformationContext, key: string) => `${key}${ctx.fetch(others[other]!).length}`,
        { name },
      );
    others.A = fetching("A", "C");
    others.B = fetching("B", "A");
    others.C = fetching("C", "B");
    late.set("i");
    late.markSynced();
    expect(errors.map((error) => error.details.path)).toEqual([["A", "C", "B", "A"]]);
    expect(Object.values(others).map((one) => one.synced)).toEqual([true, true, true]);
  });

  it("a collection that fetches itself is a cycle", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["i"]);
    const self: Collection<string>[] = [];
    self.push(
      rt.derive(inputs, (ctx, key) => `${key}${self[0] && ctx.fetch(self[0]).length}`, {
        name: "A",
      }),
    );
    inputs.set("j");
    expect(errors.map((error) => error.details.path)).toEqual([["A", "A"]]);
  });

  it("S166 a transformation that returns a promise is rejected", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["i"]);
    // @ts-expect-error promises are refused by the types, too
    const derived = rt.derive(inputs, async (_, key: string) => key);
    // @ts-expect-error promises are refused by the types, too
    rt.deriveMany(inputs, async (_, key: string) => [key]);
    expect(derived.size).toBe(0);
    expect(errors.map((error) => error.code)).toEqual(["KRT_ASYNC", "KRT_ASYNC"]);
  });

  it("a write inside a transformation is refused", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["i"]);
    const target = rt.source<string>([], { name: "target" });
    rt.derive(inputs, (_, key) => {
      target.set(key);
      return key;
    });
    rt.derive(inputs, (_, key) => rt.batch(() => key));
    expect(errors.map((error) => error.code)).toEqual(["KRT_WRITE", "KRT_WRITE"]);
    expect(target.size).toBe(0);
  });

  it("an error without a handler is thrown where nothing can swallow it", async () => {
    const thrown: unknown[] = [];
    const run = (task: () => void) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    };
    const scheduler = {
      now: () => 0,
      random: () => 0,
      microtask: run,
      macrotask: run,
      delay: () => () => {},
    };
    const { createRuntime } = await import("../../index.ts");
    using rt = createRuntime({ scheduler });
    rt.derive(rt.source(["i"]), () => {
      throw new Error("unseen");
    });
    expect(thrown).toMatchObject([{ code: "KRT_TRANSFORMATION" }]);
  });
});

describe("settled", () => {
  it("does not wait for handlers that are busy, and waits for writes of handlers", async () => {
    const { rt } = rig;
    const source = rt.source<number>();
    source.subscribe(() => new Promise(() => {}));
    source.subscribe((event: Event<number>) => {
      if (event.new !== undefined && event.new < 5) source.set(event.new + 1);
    });
    source.set(0);
    await rt.settled();
    expect(source.size).toBe(6);
  });

  it("can be given up", async () => {
    const { rt } = rig;
    const source = rt.source<number>();
    const controller = new AbortController();
    source.set(1);
    source.subscribe(() => {});
    const waiting = rt.settled({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});
