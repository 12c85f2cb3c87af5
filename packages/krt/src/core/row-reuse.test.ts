import { describe, expect, it } from "vitest";
import { createRuntime, kind } from "../index.ts";
import { nodeOf } from "./tracker.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}
const ITEM = kind<Item>()({ key: (item) => item.key });

function filled(size: number) {
  const rt = createRuntime();
  const items = Array.from({ length: size }, (_, i): Item => ({ key: `k${i}`, value: i }));
  const source = rt.source(items, { kind: ITEM });
  return { rt, source, rows: () => [...nodeOf(source).rows()].length };
}

describe("rows of deleted objects", () => {
  it("are used again by a key that comes and goes", () => {
    const { source, rows } = filled(1000);
    const before = nodeOf(source).rowAt("k0");
    for (let i = 0; i < 1000; i++) {
      source.delete("k0");
      source.set({ key: "k0", value: i });
    }
    expect(nodeOf(source).rowAt("k0")).toBe(before);
    expect(rows()).toBe(1000);
    expect(source.size).toBe(1000);
  });

  it("are not more than a part of the collection", () => {
    const { source, rows } = filled(10_000);
    for (let i = 0; i < 10_000; i++) {
      source.delete(`k${i}`);
      if (i % 100 !== 0) continue;
      expect(rows() - source.size).toBeLessThanOrEqual(Math.max(64, rows() >> 3));
    }
    expect(source.list()).toEqual([]);
    expect(rows()).toBeLessThanOrEqual(64);
  });

  it("do not show anywhere", async () => {
    const { rt, source } = filled(10);
    source.delete("k3");
    const index = rt.index(source, (item) => item.value % 2);
    const derived = rt.derive(source, (_, item): Item => ({ ...item }), { kind: ITEM });
    const events: string[] = [];
    source.subscribe((event) => void events.push(event.key));
    await rt.settled();
    const keys = ["k0", "k1", "k2", "k4", "k5", "k6", "k7", "k8", "k9"];
    expect([...source.keys()]).toEqual(keys);
    expect([...derived.keys()]).toEqual(keys);
    expect(events).toEqual(keys);
    expect(index.lookup(1)).toHaveLength(4);
    expect(source.get("k3")).toBeUndefined();
    expect(source.has("k3")).toBe(false);
    expect(Object.keys(rt.inspect().dump()[0]?.state.outputs ?? {})).toEqual(keys);
    expect(rt.inspect().dependants(source, "k3")).toEqual([]);
  });

  it("and their slots are given to others in the end", () => {
    const { source } = filled(0);
    for (let i = 0; i < 10_000; i++) {
      source.set({ key: `k${i}`, value: i });
      source.delete(`k${i}`);
    }
    source.set({ key: "last", value: 0 });
    expect(nodeOf(source).rowAt("last")?.slot).toBeLessThan(130);
  });
});
