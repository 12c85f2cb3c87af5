import { describe, expect, it } from "vitest";
import {
  any,
  byFields,
  byKey,
  byLabels,
  createRuntime,
  type KrtError,
  kind,
  partial,
  type RuntimeWarning,
  where,
} from "../index.ts";
import { checkTransformation } from "../testing/check-transformation.ts";

interface Item {
  readonly key: string;
  readonly labels: Record<string, string>;
  readonly list: number[];
}

const items: Item[] = [{ key: "a", labels: { app: "x" }, list: [1] }];

function strictRuntime(level: "cheap" | "full" = "full") {
  const errors: KrtError[] = [];
  const diagnostics: RuntimeWarning[] = [];
  const rt = createRuntime({
    strict: level,
    onError: (error) => errors.push(error),
    onWarning: (diagnostic) => diagnostics.push(diagnostic),
  });
  const codes = () => errors.splice(0).map((error) => error.code);
  return { rt, errors, diagnostics, codes };
}

describe("strict mode", () => {
  it("is silent about a transformation that keeps the rules", () => {
    const { rt, codes } = strictRuntime();
    const source = rt.source(items);
    const other = rt.source(items);
    const isX = where((item: Item) => item.labels.app === "x");
    const derived = rt.derive(source, (ctx, { key }) => {
      const inline = ctx.fetch(
        other,
        where((item) => item.list.length > 0),
      );
      return { key, n: ctx.fetch(other, isX).length + inline.length, made: new Date(0) };
    });
    rt.deriveMany(source, function* (_, { key }) {
      yield { key: `${key}1` };
      yield { key: `${key}2` };
    });
    other.set({ key: "b", labels: {}, list: [] });
    expect(codes()).toEqual([]);
    expect(derived.get("a")?.n).toBe(2);
  });

  it("is silent about fetches that are written down in place", () => {
    const { rt, codes } = strictRuntime();
    const labelled = kind<Item>()({ key: (item) => item.key, labels: (item) => item.labels });
    const source = rt.source(items, { kind: labelled });
    const found = rt.derive(rt.source(["i"]), (ctx, key) => {
      const either = ctx.fetch(source, any(byKey("a"), byLabels({ app: "y" })));
      const nested = ctx.fetch(
        source,
        any<Item, "labels">([byLabels({ app: "x" }), where((item: Item) => item.list.length > 0)]),
      );
      const lists = ctx.fetchPartial(
        source,
        partial((item: Item) => item.list.length),
      );
      return { key, n: either.length * 100 + nested.length * 10 + lists.length };
    });
    const n = () => found.get("i")?.n;
    expect([n(), codes()]).toEqual([111, []]);
    source.set({ key: "b", labels: { app: "y" }, list: [] });
    expect([n(), codes()]).toEqual([212, []]);
    source.set({ key: "b", labels: { app: "x" }, list: [3] });
    expect([n(), codes()]).toEqual([122, []]);
    source.delete("a");
    expect([n(), codes()]).toEqual([11, []]);
  });

  it("S164 reports a transformation with a counter, with the path of the difference", () => {
    const { rt, errors } = strictRuntime();
    let counter = 0;
    rt.derive(rt.source(["a"]), (_, key) => ({ key, inner: { n: counter++ } }), {
      name: "Counting",
    });
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([
      {
        code: "KRT_STRICT_RESULT",
        details: { collection: "Counting", key: "a", property: "inner.n" },
      },
    ]);
  });

  it("reports fetches that differ from run to run", () => {
    const { rt, codes } = strictRuntime();
    const other = rt.source(items);
    let flip = false;
    rt.derive(rt.source(["a"]), (ctx, key) => {
      flip = !flip;
      if (flip) ctx.fetch(other);
      return key;
    });
    expect(codes()).toEqual(["KRT_STRICT_RESULT"]);
  });

  it("S164 stops a write to an input, a fetched object, or a fetched list, with the path", () => {
    const { rt, errors } = strictRuntime();
    const source = rt.source(items, { name: "Items" });
    const map = new Map([["a", 1]]);
    const maps = rt.source([{ key: "m", map }]);
    rt.derive(source, (_, item) => {
      item.labels.app = "changed";
      return item;
    });
    rt.derive(source, (ctx, { key }) => {
      ctx.fetchOne(source)?.list.push(2);
      return key;
    });
    rt.derive(source, (ctx, { key }) => {
      (ctx.fetch(source) as Item[]).reverse().pop();
      return key;
    });
    rt.derive(maps, (_, one) => {
      one.map.set("b", 2);
      return one.key;
    });
    expect(errors.map((error) => error.code)).toEqual(Array(4).fill("KRT_STRICT_MUTATION"));
    expect(errors.map((error) => error.details.property)).toEqual([
      "labels.app",
      "list.1",
      expect.any(String),
      "set()",
    ]);
    expect(errors[0]?.details.key).toBe("a");
  });

  it.each(["cheap", "full"] as const)("S132 S164 %s: stops a read without fetch", (level) => {
    const { rt, errors } = strictRuntime(level);
    const source = rt.source(items, { name: "Items" });
    const index = rt.index(source, (item) => item.labels.app);
    const inputs = rt.source(["i"]);
    const reads: (() => unknown)[] = [
      () => source.get("a"),
      () => source.has("a"),
      () => source.list(),
      () => source.size,
      () => [...source],
      () => [...source.keys()],
      () => index.lookup("x"),
    ];
    for (const read of reads) {
      rt.derive(inputs, (_, key) => {
        read();
        return key;
      });
    }
    expect(errors.map((error) => error.code)).toEqual(reads.map(() => "KRT_STRICT_READ"));
    expect(source.get("a"), "reads outside are fine").toBeDefined();
  });

  it.each([
    ["Date.now", () => Date.now()],
    ["new Date", () => new Date()],
    ["Math.random", () => Math.random()],
    ["performance.now", () => performance.now()],
    ["crypto.randomUUID", () => crypto.randomUUID()],
    ["setTimeout", () => clearTimeout(setTimeout(() => {}, 0))],
    ["queueMicrotask", () => queueMicrotask(() => {})],
    ["fetch", () => void fetch("http://127.0.0.1:1").catch(() => {})],
  ])("stops the use of %s", (_, use) => {
    const { rt, codes } = strictRuntime();
    rt.derive(rt.source(["a"]), (_ctx, key) => {
      use();
      return key;
    });
    expect(codes()).toEqual(["KRT_STRICT_AMBIENT"]);
    expect(Date.now()).toBeGreaterThan(0);
    expect(Math.random()).toBeLessThan(1);
  });

  it("reports an equality that misses a difference, and reports churn", () => {
    const { rt, errors, diagnostics } = strictRuntime();
    const source = rt.source([{ key: "a", v: 1, other: 1 }]);
    const blind = kind<{ key: string; v: number; other: number }>();
    rt.derive(source, (_, object) => ({ ...object }), {
      kind: blind({ key: (o) => o.key, equals: (a, b) => a.v === b.v }),
      name: "Blind",
    });
    rt.derive(source, (_, object) => ({ ...object }), {
      kind: blind({ key: (o) => o.key, equals: byFields((o) => [o.v]) }),
      name: "ByIntention",
    });
    rt.derive(source, (_, { key }) => ({ key }), {
      kind: kind<{ key: string }>()({ key: (o) => o.key, equals: "reference" }),
      name: "Churning",
    });
    source.set({ key: "a", v: 1, other: 2 });
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([
      {
        code: "KRT_STRICT_EQUALITY",
        details: { collection: "Blind", key: "a", property: "other" },
      },
    ]);
    expect(diagnostics).toEqual([{ type: "churn", collection: "Churning", key: "a" }]);
  });

  it("S103 reports members of an unchecked join that overlap", () => {
    const { rt, errors } = strictRuntime("cheap");
    rt.join([rt.source(["a"]), rt.source(["a", "b"])], { unchecked: true, name: "Both" });
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([
      { code: "KRT_OVERLAP", details: { collection: "Both", key: "a" } },
    ]);
  });

  it("S122 stops a view that changes a key, with both keys", () => {
    const { rt } = strictRuntime("cheap");
    const source = rt.source(["a"]);
    const view = rt.view(source, (s) => ({ key: `other-${s}` }), { name: "View" });
    expect(() => view.list()).toThrow(
      expect.objectContaining({
        code: "KRT_VIEW_KEY",
        details: { collection: "View", key: "a", inputs: ["a", "other-a"] },
      }),
    );
  });

  it("does not run transformations twice that make collections", () => {
    const { rt, codes } = strictRuntime();
    let runs = 0;
    const made = rt.derive(rt.source(["a"]), (ctx, name) => {
      runs++;
      return ctx.scope().source(["x"], { name });
    });
    expect(runs).toBe(1);
    expect(rt.joinNested(made).list()).toEqual(["x"]);
    expect(codes()).toEqual([]);
  });
});

describe("audit", () => {
  it("finds an output that depends on something it does not fetch", () => {
    const errors: KrtError[] = [];
    using rt = createRuntime({ onError: (error) => errors.push(error) });
    let hidden = 1;
    rt.derive(rt.source(["a", "b"]), (_, key) => ({ key, v: key === "a" ? hidden : 0 }), {
      name: "Leaky",
    });
    rt.deriveMany(rt.source(["c"]), (_, key) => [{ key, v: hidden }], { name: "LeakyMany" });
    expect(rt.audit()).toEqual([]);
    hidden = 2;
    expect(rt.audit()).toEqual([
      { collection: "Leaky", input: "a", property: "v" },
      { collection: "LeakyMany", input: "c", property: "c.v" },
    ]);
    expect(errors.map((error) => error.code)).toEqual(["KRT_STRICT_STALE", "KRT_STRICT_STALE"]);
  });

  it("leaves no traces: no dependencies, no outputs, no writes", () => {
    using rt = createRuntime({ onError: () => {} });
    const other = rt.source(["x"]);
    let look = false;
    const derived = rt.derive(rt.source(["a"]), (ctx, key) => ({
      key,
      n: look ? ctx.fetch(other).length : 0,
    }));
    look = true;
    expect(rt.audit().length).toBe(1);
    expect(derived.get("a")?.n).toBe(0);
    expect(
      rt
        .inspect()
        .edges()
        .filter((edge) => edge.type === "fetch"),
    ).toEqual([]);
    expect(() => rt.batch(() => rt.audit())).toThrow(
      expect.objectContaining({ code: "KRT_WRITE" }),
    );
  });
});

describe("checkTransformation", () => {
  it("returns what a transformation does against the rules", () => {
    let counter = 0;
    const bad = checkTransformation(items, () => (_, item) => `${item.key}${counter++}`);
    expect(bad.map((error) => error.code)).toEqual(["KRT_STRICT_RESULT"]);
    const good = checkTransformation(items, (rt) => {
      const others = rt.source(items);
      return (ctx, item) => `${item.key}${ctx.fetch(others).length}`;
    });
    expect(good).toEqual([]);
  });
});
