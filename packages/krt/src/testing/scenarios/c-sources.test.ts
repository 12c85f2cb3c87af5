import { beforeEach, describe, expect, it } from "vitest";
import { createRuntime, KrtError } from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import { configMapSource, createRig, type Rig } from "./fixtures.ts";

describe("sources", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => {
      expect(rig.errors).toEqual([]);
      rig.rt.dispose();
    };
  });

  it("S053-S056 a source from its first object to a delete", async () => {
    const { rt } = rig;
    const maps = configMapSource(rt, [{ ns: "ns", name: "a" }]);
    expect(maps.synced, "S053").toBe(true);
    expect(maps.list()).toEqual([{ ns: "ns", name: "a" }]);
    const tracker = trackEvents(maps);
    await rt.settled();
    expect(tracker.take(), "S053").toEqual(["add/ns/a"]);

    maps.set({ ns: "ns", name: "b" });
    await rt.settled();
    expect(tracker.take(), "S054").toEqual(["add/ns/b"]);
    maps.set({ ns: "ns", name: "b" }, { force: true });
    await rt.settled();
    expect(tracker.take(), "S054: forced").toEqual(["update/ns/b"]);
    maps.set({ ns: "ns", name: "b" });
    await rt.settled();
    expect(tracker.take(), "S054: equal").toEqual([]);

    const second = trackEvents(maps);
    await rt.settled();
    expect(second.batches.length, "S055: one batch").toBe(1);
    expect(second.takeSorted(), "S055").toEqual(["add/ns/a", "add/ns/b"]);

    maps.delete("ns/b");
    maps.delete("ns/absent");
    await rt.settled();
    expect(tracker.take(), "S056").toEqual(["delete/ns/b"]);
  });

  it("S054 every change of an object of a class is one, however it keeps its state", async () => {
    class Secret {
      readonly #text: string;
      constructor(text: string) {
        this.#text = text;
      }
      get text(): string {
        return this.#text;
      }
    }
    const { rt } = rig;
    const versions: (() => unknown)[][] = [
      [() => new Secret("a"), () => new Secret("b")],
      [() => new Error("a"), () => new Error("b")],
      [() => new Uint8Array([1]).buffer, () => new Uint8Array([2]).buffer],
      [() => new Headers({ etag: "1" }), () => new Headers({ etag: "2" })],
      [() => new URL("https://a.example"), () => new URL("https://b.example")],
    ];
    for (const [before, after] of versions) {
      const source = rt.source([{ key: "k", value: before?.() }]);
      const tracker = trackEvents(source, { replay: false });
      source.set({ key: "k", value: after?.() });
      await rt.settled();
      expect(tracker.take(), String(after?.())).toEqual(["update/k"]);
    }
  });

  it("S057 deleting by predicate is one batch, or none", async () => {
    const { rt } = rig;
    const source = rt.source(["a1", "a2", "b1"]);
    const tracker = trackEvents(source, { replay: false });
    source.deleteWhere((key) => key.startsWith("a"));
    source.deleteWhere((key) => key.startsWith("c"));
    await rt.settled();
    expect(tracker.batches.length).toBe(1);
    expect(tracker.takeSorted()).toEqual(["delete/a1", "delete/a2"]);
  });

  it("a reset emits the differences only, and refuses a key that is given twice", async () => {
    const { rt } = rig;
    const source = rt.source([
      { key: "a", v: 1 },
      { key: "b", v: 1 },
      { key: "c", v: 1 },
    ]);
    const tracker = trackEvents(source, { replay: false });
    source.reset([
      { key: "a", v: 1 },
      { key: "b", v: 2 },
      { key: "d", v: 1 },
    ]);
    await rt.settled();
    expect(tracker.batches.length).toBe(1);
    expect(tracker.takeSorted()).toEqual(["add/d", "delete/c", "update/b"]);
    const twice = () =>
      source.reset([
        { key: "x", v: 1 },
        { key: "x", v: 2 },
      ]);
    expect(twice).toThrow(expect.objectContaining({ code: "KRT_DUPLICATE_KEY" }));
    expect(source.size).toBe(3);
  });

  it("an object without a key, or with an empty one, is refused", () => {
    const { rt } = rig;
    const source = rt.source<unknown>();
    const codes = [{}, "", { key: "" }].map((object) => {
      try {
        source.set(object);
        return "none";
      } catch (error) {
        return (error as KrtError).code;
      }
    });
    expect(codes).toEqual(["KRT_NO_KEY", "KRT_EMPTY_KEY", "KRT_EMPTY_KEY"]);
    expect(source.size).toBe(0);
  });

  it("S060 a cell is set, cleared, and set to another key", async () => {
    const { rt } = rig;
    const cell = rt.cell<string>();
    const tracker = trackEvents(cell);
    cell.set("foo");
    expect(cell.value).toBe("foo");
    await rt.settled();
    expect(tracker.take()).toEqual(["add/foo"]);
    cell.set(undefined);
    expect(cell.value).toBeUndefined();
    await rt.settled();
    expect(tracker.take()).toEqual(["delete/foo"]);
    cell.set("bar");
    await rt.settled();
    expect(tracker.take()).toEqual(["add/bar"]);
    cell.set("bar2");
    expect(cell.value).toBe("bar2");
    await rt.settled();
    expect(tracker.batches.length, "one batch").toBe(1);
    expect(tracker.takeSorted()).toEqual(["add/bar2", "delete/bar"]);
  });

  it("S061 a cell set to an object with the same key is an update", async () => {
    const { rt } = rig;
    const cell = rt.cell({ key: "k", v: 1 });
    const tracker = trackEvents(cell, { replay: false });
    cell.set({ key: "k", v: 2 });
    cell.update((value) => value && { ...value, v: value.v + 1 });
    await rt.settled();
    expect(tracker.take()).toEqual(["update/k", "update/k"]);
    expect(cell.value).toEqual({ key: "k", v: 3 });
  });

  it("S063 a derived singleton follows its dependency, and a string is its own key", async () => {
    const { rt } = rig;
    const maps = configMapSource(rt);
    const names = rt.deriveSingleton(
      (ctx) =>
        ctx
          .fetch(maps)
          .map((map) => `${map.ns}/${map.name}`)
          .join(),
      { metadata: { app: "foo" } },
    );
    const tracker = trackEvents(names);
    await rt.settled();
    expect(names.value).toBe("");
    expect(tracker.take()).toEqual(["add/"]);
    maps.set({ ns: "ns", name: "a" });
    await rt.settled();
    expect(tracker.takeSorted()).toEqual(["add/ns/a", "delete/"]);
    expect(names.value).toBe("ns/a");
    expect(names.metadata).toEqual({ app: "foo" });
  });

  it("S064 a singleton may be a number", async () => {
    const { rt } = rig;
    const maps = configMapSource(rt);
    const count = rt.deriveSingleton((ctx) => ctx.fetch(maps).length);
    const tracker = trackEvents(count);
    await rt.settled();
    expect(count.value).toBe(0);
    tracker.take();
    maps.set({ name: "a" });
    await rt.settled();
    expect(count.value).toBe(1);
    expect(tracker.take()).toEqual(["update/static"]);
    maps.set({ name: "a", data: { x: "y" } });
    await rt.settled();
    expect(tracker.take()).toEqual([]);
  });

  it("S065-S066 a recompute trigger gates sync and runs its dependants", async () => {
    const { rt } = rig;
    const trigger = rt.trigger({ synced: false });
    let outside = "foo";
    const derived = rt.deriveSingleton((ctx) => {
      trigger.depend(ctx);
      return outside;
    });
    const tracker = trackEvents(derived);
    await rt.settled();
    expect(derived.synced, "S065").toBe(false);
    expect(tracker.registration.synced).toBe(false);
    trigger.markSynced();
    expect(derived.synced, "S065").toBe(true);
    await rt.settled();
    expect(tracker.take(), "S065").toEqual(["add/foo"]);

    outside = "bar";
    trigger.fire();
    await rt.settled();
    expect(tracker.takeSorted(), "S066").toEqual(["add/bar", "delete/foo"]);
    outside = "baz";
    trigger.fire();
    await rt.settled();
    expect(tracker.takeSorted(), "S066").toEqual(["add/baz", "delete/bar"]);
    trigger.fire();
    await rt.settled();
    expect(tracker.take(), "S066: nothing changed").toEqual([]);
  });

  it("S067 many from nothing", async () => {
    const { rt } = rig;
    const outside = rt.external(["a", "b"]);
    const derived = rt.deriveManyFrom((ctx) => outside.get(ctx));
    const tracker = trackEvents(derived);
    await rt.settled();
    expect(tracker.takeSorted()).toEqual(["add/a", "add/b"]);
    outside.modify((list) => {
      list.splice(0, 2, "b", "c");
    });
    await rt.settled();
    expect(tracker.takeSorted()).toEqual(["add/c", "delete/a"]);
    outside.modify(() => ["c"]);
    expect(outside.peek()).toEqual(["c"]);
    await rt.settled();
    expect(tracker.take()).toEqual(["delete/b"]);
  });
});

describe("options", () => {
  it("values out of range are refused", () => {
    expect(() => createRuntime({ sliceMs: 0 })).toThrow(
      expect.objectContaining({ code: "KRT_INVALID_OPTION" }),
    );
    using rt = createRuntime();
    expect(() => rt.join([], { unchecked: true, merge: () => undefined })).toThrow(KrtError);
  });
});
