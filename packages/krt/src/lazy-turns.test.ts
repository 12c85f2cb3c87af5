import { describe, expect, it } from "vitest";
import { createRuntime, KrtError } from "./index.ts";

interface Item {
  readonly key: string;
  readonly n: number;
}

function build(turns: "eager" | "lazy" = "lazy") {
  const errors: KrtError[] = [];
  const rt = createRuntime({ turns, onError: (error) => errors.push(error) });
  const source = rt.source<Item>([{ key: "a", n: 0 }]);
  let runs = 0;
  const doubled = rt.derive(source, (_, { key, n }) => {
    runs++;
    if (n < 0) throw new Error("negative");
    return { key, n: 2 * n };
  });
  const events: string[] = [];
  doubled.subscribe(({ type, key, new: now }) => void events.push(`${type} ${key} ${now?.n}`), {
    replay: false,
  });
  runs = 0;
  const { version } = rt;
  return {
    rt,
    source,
    doubled,
    events,
    errors,
    turns: () => rt.version - version,
    runs: () => runs,
  };
}

describe("lazy turns", () => {
  it("the writes of a task are one turn, and several to one key one change", async () => {
    const { rt, source, events, turns, runs } = build();
    for (let n = 1; n <= 100; n++) source.set({ key: "a", n });
    source.set({ key: "b", n: 1 });
    source.delete("b");
    expect(runs()).toBe(0);
    await rt.settled();
    expect(turns()).toBe(1);
    expect(runs()).toBe(1);
    expect(events).toEqual(["update a 200"]);
  });

  it("a read sees everything that was written before it", () => {
    const { source, doubled, turns } = build();
    source.set({ key: "a", n: 1 });
    source.set({ key: "a", n: 2 });
    expect(doubled.get("a")?.n).toBe(4);
    source.set({ key: "b", n: 3 });
    expect(doubled.list().map(({ n }) => n)).toEqual([4, 6]);
    source.set({ key: "c", n: 3 });
    expect(doubled.size).toBe(3);
    source.delete("c");
    expect([...doubled.keys()]).toEqual(["a", "b"]);
    expect(turns()).toBe(4);
  });

  it("batches, transactions, new collections and sliced turns begin with what was written", async () => {
    const { rt, source, doubled } = build();
    source.set({ key: "a", n: 1 });
    rt.batch(() => expect(doubled.get("a")?.n).toBe(2));
    source.set({ key: "a", n: 2 });
    const fail = () =>
      rt.transaction(() => {
        source.set({ key: "a", n: 100 });
        throw new Error("undo");
      });
    expect(fail).toThrow("undo");
    expect(doubled.get("a")?.n).toBe(4);
    source.set({ key: "a", n: 3 });
    expect(rt.derive(doubled, (_, { n }) => `${n}`).list()).toEqual(["6"]);
    source.set({ key: "a", n: 4 });
    const index = rt.index(source, ({ n }) => n);
    source.set({ key: "a", n: 5 });
    expect(index.lookup(5).length).toBe(1);
    source.set({ key: "a", n: 6 });
    const loaded = source.load([{ key: "b", n: 1 }]);
    source.set({ key: "c", n: 1 });
    await loaded;
    expect(doubled.list().map(({ n }) => n)).toEqual([12, 2, 2]);
  });

  it("sync, failures and disposal are as they would be", async () => {
    const { rt, source, doubled, errors } = build();
    const late = rt.source<Item>([], { synced: false });
    const after = rt.derive(late, (_, one) => one);
    late.set({ key: "x", n: 1 });
    late.markSynced();
    expect(late.synced).toBe(true);
    expect(after.synced).toBe(true);
    source.set({ key: "a", n: -1 });
    expect(rt.errors.list().map(({ input }) => input)).toEqual(["a"]);
    expect(errors.length).toBe(1);
    source.set({ key: "a", n: 7 });
    doubled.dispose();
    expect(doubled.get("a")?.n).toBe(14);
    const waiting = rt.source<Item>([], { synced: false });
    const synced = waiting.whenSynced();
    waiting.markSynced();
    await synced;
  });

  it("writes of a handler are a turn of their own after it", async () => {
    const { rt, source, doubled } = build();
    const target = rt.source<Item>([]);
    const seen: number[] = [];
    doubled.subscribe(({ new: now }) => {
      if (now === undefined) return;
      target.set({ key: `t${now.n}`, n: now.n });
      seen.push(target.size);
    });
    source.set({ key: "a", n: 1 });
    await rt.settled();
    expect(seen).toEqual([0, 1]);
    expect(target.size).toBe(2);
  });

  it("is refused under another name", () => {
    expect(() => createRuntime({ turns: "sometimes" as never })).toThrow(KrtError);
  });
});
