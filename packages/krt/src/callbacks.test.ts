import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byIndex,
  createRuntime,
  deepEqual,
  fromAsyncIterable,
  type KrtError,
  kind,
  sum,
} from "./index.ts";

interface Item {
  readonly key: string;
  readonly v: number;
}

function rig() {
  const errors: KrtError[] = [];
  const rt = createRuntime({ onError: (error) => errors.push(error) });
  return { rt, codes: () => errors.splice(0).map(({ code }) => code) };
}

/** Items whose versions cannot be compared where one of them is negative. */
const touchy = kind<Item>()({
  key: ({ key }) => key,
  equals: (a, b) => {
    if (a.v < 0 || b.v < 0) throw new Error("not comparable");
    return deepEqual(a, b);
  },
});

describe("statuses", () => {
  it.each(["keep", "delete"] as const)("%s: agree with the outputs at all times", (onFailure) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 0, max: 8 }))), (writes) => {
        const { rt } = rig();
        const inputs = rt.source<Item>([]);
        const { status, output } = rt.deriveWithStatus(
          inputs,
          (_, { key, v }) => {
            if (v % 4 === 0) throw new Error("planned");
            return { status: v, output: { key: v % 5 === 0 ? "" : key, v } };
          },
          { onFailure },
        );
        const expected = new Map<string, number>();
        for (const [key, v] of writes) {
          inputs.set({ key: `${key}`, v });
          if (v % 4 !== 0 && v % 5 !== 0) expected.set(`${key}`, v);
          else if (onFailure === "delete") expected.delete(`${key}`);
          const statuses = status.list().map((one) => [one.object.key, one.status] as const);
          expect(new Map(statuses)).toEqual(expected);
          expect(new Map(output.list().map((one) => [one.key, one.v]))).toEqual(expected);
        }
      }),
    );
  });

  it("survive an equality of the input that throws", () => {
    const { rt, codes } = rig();
    const inputs = rt.source<Item>([{ key: "a", v: 1 }], { kind: touchy });
    const { status, output } = rt.deriveWithStatus(inputs, (_, { key, v }) => ({
      status: v % 2,
      output: { key, v },
    }));
    for (const v of [-1, 3, -5, 5]) {
      rt.batch(() => {
        inputs.delete("a");
        inputs.set({ key: "a", v });
      });
      expect([output.get("a")?.v, status.get("a")?.object.v]).toEqual([v, v]);
    }
    expect(new Set(codes())).toEqual(new Set(["KRT_CALLBACK"]));
  });
});

describe("an equality that throws", () => {
  it("makes a change of what was written twice in a turn", () => {
    const { rt, codes } = rig();
    const source = rt.source<Item>([{ key: "a", v: 1 }], { kind: touchy });
    const copy = rt.derive(source, (_, { key, v }) => ({ key, v }));
    rt.batch(() => {
      source.delete("a");
      source.set({ key: "a", v: -1 });
    });
    expect([copy.get("a")?.v, codes()]).toEqual([-1, ["KRT_CALLBACK"]]);
  });

  it("costs a burst from outside one object, not all", async () => {
    const { rt, codes } = rig();
    async function* items() {
      for (let i = 0; i < 10; i++) yield { key: `k${i % 5}`, v: i === 7 ? -1 : i };
    }
    const all = fromAsyncIterable(rt, items(), { items: "objects", kind: touchy });
    await all.whenSynced();
    await rt.settled();
    const seen = all.list().filter(({ v }) => v >= 5 && v !== 7);
    expect(seen.map(({ key }) => key).sort()).toEqual(["k0", "k1", "k3", "k4"]);
    expect(codes().every((code) => code === "KRT_SOURCE")).toBe(true);
  });
});

describe("index keys", () => {
  it("of different types are different groups, under different keys", () => {
    const { rt, codes } = rig();
    const source = rt.source<{ readonly key: string; readonly at: number | string }>([
      { key: "number", at: 1 },
      { key: "text", at: "1" },
    ]);
    const index = rt.index(source, ({ at }) => at);
    const groups = index.asCollection();
    const sums = rt.aggregateBy(source, { by: ({ at }) => at }, { n: sum(() => 1) });
    expect(groups.list().map(({ key, objects }) => [key, objects.length])).toEqual([
      [1, 1],
      ["1", 1],
    ]);
    expect(sums.list().map(({ key, size }) => [key, size])).toEqual([
      [1, 1],
      ["1", 1],
    ]);
    expect([...groups.keys()]).toEqual(["1", "string:1"]);
    expect(codes()).toEqual(["KRT_DUPLICATE_KEY", "KRT_DUPLICATE_KEY"]);
    expect([index.lookup(1).length, index.lookup("1").length]).toEqual([1, 1]);

    // A view of the groups has them under the same keys.
    expect([...rt.view(groups, ({ key }) => ({ key: String(key) })).keys()].length).toBe(2);
    source.delete("number");
    source.set({ key: "text", at: 1 });
    expect(groups.list().map(({ key }) => key)).toEqual([1]);
    expect([...groups.keys()]).toEqual(["1"]);
    expect(codes()).toEqual([]);
  });

  it("that are objects need a text: two of them are never confused", () => {
    const { rt, codes } = rig();
    const [one, two] = [{ id: 1 }, { id: 2 }];
    const source = rt.source([{ key: "a", at: one }]);
    const bare = rt.index(source, ({ at }) => at);
    expect([codes(), [...bare.keys()]]).toEqual([["KRT_CALLBACK"], []]);
    expect(() => byIndex(bare, two)).toThrow("toText");
    const told = rt.index(source, ({ at }) => at, { toText: ({ id }) => `${id}` });
    expect([told.lookup({ id: 1 }).length, told.lookup(two).length]).toEqual([1, 0]);
    rt.aggregateBy(source, { by: ({ at }) => at }, { n: sum(() => 1) });
    expect(codes()).toEqual(["KRT_CALLBACK"]);
  });

  it("whose text throws leave the object out, and the write takes place", () => {
    const { rt, codes } = rig();
    const source = rt.source<Item>([{ key: "a", v: 1 }]);
    const index = rt.index(source, ({ v }) => v, {
      toText: (v) => {
        if (v < 0) throw new Error("negative");
        return `${v}`;
      },
    });
    const copy = rt.derive(source, (_, one) => ({ ...one }));
    source.set({ key: "b", v: -1 });
    expect([copy.size, index.lookup(1).length, codes()]).toEqual([2, 1, ["KRT_CALLBACK"]]);
  });
});

describe("deliveries", () => {
  it("reach others, where a warning of a full queue is answered by an error", async () => {
    const errors: KrtError[] = [];
    const rt = createRuntime({
      highWater: 1,
      onWarning: () => {
        throw new Error("no warnings");
      },
      onError: (error) => errors.push(error),
    });
    const source = rt.source<Item>([], {});
    const seen: string[][] = [[], []];
    for (const keys of seen) source.subscribe(({ key }) => void keys.push(key));
    rt.batch(() => {
      for (const key of ["a", "b", "c"]) source.set({ key, v: 1 });
    });
    await rt.settled();
    expect(seen).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["KRT_CALLBACK"]));
  });

  it("continue after a projection that throws as the state is delivered once more", async () => {
    const { rt, codes } = rig();
    const source = rt.source<Item>([], {});
    let isBroken = false;
    const shown = rt.view(source, ({ key, v }) => {
      if (isBroken && key === "b") throw new Error("no projection");
      return { key, v };
    });
    const resynced: string[] = [];
    const others: string[] = [];
    const overflow = { limit: 1, policy: "resync", onResync: () => undefined } as const;
    shown.subscribe(({ key }) => void resynced.push(key), { overflow });
    source.subscribe(({ key }) => void others.push(key));
    isBroken = true;
    rt.batch(() => {
      for (const key of ["a", "b", "c"]) source.set({ key, v: 1 });
    });
    await rt.settled();
    source.set({ key: "d", v: 1 });
    await rt.settled();
    expect([resynced, others]).toEqual([
      ["a", "c", "d"],
      ["a", "b", "c", "d"],
    ]);
    expect(new Set(codes())).toEqual(new Set(["KRT_CALLBACK"]));
  });

  it("continue after a handler whose promise throws as it is asked", async () => {
    const { rt, codes } = rig();
    const source = rt.source<Item>([], {});
    const others: string[] = [];
    const hostile = Promise.resolve();
    Reflect.set(hostile, "then", () => {
      throw new Error("not a promise");
    });
    source.subscribe(() => hostile);
    source.subscribe(({ key }) => void others.push(key));
    for (const key of ["a", "b"]) source.set({ key, v: 1 });
    await rt.settled();
    expect([others, codes()]).toEqual([
      ["a", "b"],
      ["KRT_HANDLER", "KRT_HANDLER"],
    ]);
  });
});
