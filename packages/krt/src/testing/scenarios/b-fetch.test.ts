import { beforeEach, describe, expect, it } from "vitest";
import {
  byIndex,
  byIndexKeys,
  byKey,
  byKeys,
  byLabels,
  fetchOrList,
  kind,
  type Labels,
  partial,
  selecting,
  selectingNonEmpty,
  type TransformationContext,
  where,
} from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import {
  type ConfigMap,
  configMapSource,
  createRig,
  keysOf,
  type Pod,
  pod,
  podSource,
  type Rig,
  type Service,
  serviceSource,
  simplePods,
} from "./fixtures.ts";

describe("fetch, filters and dependency tracking", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => {
      expect(rig.errors).toEqual([]);
      rig.rt.dispose();
    };
  });

  it("S024-S026 one collection fetched twice with different filters", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const maps = configMapSource(rt);
    const set = (name: string, labels: Labels) => maps.set({ ns: "ns", name, labels });
    const names = rt.derive(pods, (ctx, { name }) => ({
      key: name,
      names: [
        ...ctx.fetch(maps, byLabels({ app: "foo" })),
        ...ctx.fetch(maps, byLabels({ app: "bar" })),
      ]
        .map((map) => map.name)
        .sort(),
    }));
    const now = () => names.get("name")?.names;
    pods.set(pod("name", "1"));
    expect(now(), "S024").toEqual([]);
    set("foo1", { app: "foo" });
    expect(now()).toEqual(["foo1"]);
    set("switch", { app: "foo" });
    expect(now()).toEqual(["foo1", "switch"]);
    set("bar1", { app: "bar" });
    expect(now()).toEqual(["bar1", "foo1", "switch"]);

    const tracker = trackEvents(names, { replay: false });
    set("switch", { app: "bar" });
    await rt.settled();
    expect(now(), "S025").toEqual(["bar1", "foo1", "switch"]);
    expect(tracker.take(), "S025").toEqual([]);

    set("switch", {});
    expect(now(), "S026").toEqual(["bar1", "foo1"]);
    maps.delete("ns/bar1");
    expect(now()).toEqual(["foo1"]);
    maps.delete("ns/foo1");
    expect(now()).toEqual([]);
  });

  it("S027 a keyed fetch does not hide changes from a full fetch of the same collection", () => {
    const { rt } = rig;
    const pods = podSource(rt, [pod("name1", "1.1.1.1"), pod("name2", "2.2.2.2")]);
    const simple = simplePods(rt, pods);
    const count = rt.deriveSingleton((ctx) => {
      ctx.fetch(simple, byKey("namespace/name1"));
      return ctx.fetch(simple).filter((one) => one.ip.startsWith("1")).length;
    });
    expect(count.value).toBe(1);
    pods.set(pod("name2", "1.2.2.2"));
    expect(count.value).toBe(2);
  });

  it("S030 a partial fetch notices objects that enter and leave its filter", () => {
    const { rt } = rig;
    const maps = configMapSource(rt, [{ name: "m", labels: { on: "no" } }]);
    const nameOf = partial((map: ConfigMap) => map.name);
    let runs = 0;
    const names = rt.deriveSingleton((ctx) => {
      runs++;
      return { names: ctx.fetchPartial(maps, nameOf, byLabels({ on: "yes" })) };
    });
    expect(names.value).toEqual({ names: [] });
    maps.set({ name: "m", labels: { on: "yes" } });
    expect(names.value).toEqual({ names: ["m"] });
    maps.set({ name: "m", labels: { on: "yes" }, data: { irrelevant: "yes" } });
    expect(runs).toBe(2);
    maps.set({ name: "m", labels: { on: "no" } });
    expect(names.value).toEqual({ names: [] });
    expect(runs).toBe(3);
  });

  it.each([
    ["one key", (map: ConfigMap) => map.data?.["group"] ?? ""],
    ["several keys", (map: ConfigMap) => [map.name, map.data?.["group"] ?? ""]],
  ])(
    "a partial fetch of several keys of an index passes over objects of %s that move between them",
    (_, keysOf: (map: ConfigMap) => string | string[]) => {
      const { rt } = rig;
      const at = (group: string): ConfigMap => ({ name: "m", data: { group } });
      const maps = configMapSource(rt, [at("a")]);
      const groups = rt.index(maps, keysOf);
      const nameOf = partial((map: ConfigMap) => map.name);
      let runs = 0;
      const names = rt.deriveSingleton((ctx) => {
        runs++;
        return { names: ctx.fetchPartial(maps, nameOf, byIndexKeys(groups, ["a", "b"])) };
      });
      expect(names.value).toEqual({ names: ["m"] });
      maps.set(at("b"));
      maps.set(at("a"));
      expect([names.value, runs]).toEqual([{ names: ["m"] }, 1]);
      maps.set(at("c"));
      expect([names.value, runs]).toEqual([{ names: [] }, 2]);
      maps.set(at("b"));
      expect([names.value, runs]).toEqual([{ names: ["m"] }, 3]);
    },
  );

  describe("a fetched key that depends on the input", () => {
    const waypoint = (name: string, value: string): ConfigMap => ({
      ns: "ns",
      name,
      data: { value },
    });
    const myPod = (use: string) => pod("my-pod", "1", { "use-waypoint": use }, "ns");

    function build() {
      const { rt } = rig;
      const pods = podSource(rt);
      const maps = configMapSource(rt, [waypoint("old", "old"), waypoint("new", "new")]);
      let runs = 0;
      const values = rt.derive(
        pods,
        (ctx, { ns, name, labels }) => {
          runs++;
          const found = ctx.fetchOne(maps, byKey(`ns/${labels?.["use-waypoint"]}`));
          return { key: `${ns}/${name}`, value: found?.data?.value ?? "" };
        },
        { name: "Values" },
      );
      const dependants = (key: string) => rt.inspect().dependants(maps, key);
      return { rt, pods, maps, values, runs: () => runs, dependants };
    }

    it("S031 a changed key drops the dependency on the old one", async () => {
      const { rt, pods, maps, values, runs, dependants } = build();
      const tracker = trackEvents(values);
      pods.set(myPod("old"));
      await rt.settled();
      expect(tracker.take()).toEqual(["add/ns/my-pod"]);
      expect(dependants("ns/old")).toEqual([{ collection: "Values", input: "ns/my-pod" }]);
      pods.set(myPod("new"));
      await rt.settled();
      expect(tracker.take()).toEqual(["update/ns/my-pod"]);
      expect(values.get("ns/my-pod")?.value).toBe("new");
      expect(dependants("ns/old")).toEqual([]);
      expect(dependants("ns/new")).toEqual([{ collection: "Values", input: "ns/my-pod" }]);
      expect(runs()).toBe(2);
      maps.set(waypoint("old", "changed"));
      expect(runs()).toBe(2);
    });

    it("S032 a deleted input drops its dependencies", async () => {
      const { rt, pods, values, dependants } = build();
      const tracker = trackEvents(values);
      pods.set(myPod("new"));
      pods.delete("ns/my-pod");
      await rt.settled();
      expect(tracker.take()).toEqual(["add/ns/my-pod", "delete/ns/my-pod"]);
      expect(values.list()).toEqual([]);
      expect(dependants("ns/new")).toEqual([]);
    });
  });

  it("S033 a missing key that appears runs exactly the inputs that asked for it", () => {
    const { rt } = rig;
    const inputs = rt.source(["a", "b", "c"]);
    const maps = configMapSource(rt);
    const ran: string[] = [];
    rt.derive(inputs, (ctx, input) => {
      ran.push(input);
      return `${input}${ctx.fetch(maps, byKey(input === "c" ? "ns/y" : "ns/x")).length}`;
    });
    ran.length = 0;
    maps.set({ ns: "ns", name: "x" });
    expect(ran.sort()).toEqual(["a", "b"]);
  });

  it("S034 key dependencies are precise", () => {
    const { rt } = rig;
    const inputs = rt.source(Array.from({ length: 1000 }, (_, i) => i));
    const things = rt.source(Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, v: 0 })));
    let runs = 0;
    rt.derive(inputs, (ctx, i) => {
      runs++;
      return { key: `${i}`, v: ctx.fetchOne(things, byKey(`k${i % 100}`))?.v ?? -1 };
    });
    runs = 0;
    things.set({ key: "k7", v: 1 });
    expect(runs).toBe(10);
  });

  describe("500 inputs in each of two namespaces that fetch by namespace", () => {
    function build(select: boolean) {
      const { rt } = rig;
      const pods = podSource(
        rt,
        Array.from({ length: 1000 }, (_, i) =>
          pod(`pod-${i}`, "1", { app: `app-${i % 25}` }, `ns-${i % 2}`),
        ),
      );
      const services = serviceSource(rt);
      const byNamespace = rt.namespaceIndex(services);
      const ran: Pod[] = [];
      rt.derive(pods, (ctx, one) => {
        ran.push(one);
        const found = select
          ? ctx.fetch(services, byIndex(byNamespace, one.ns), selectingNonEmpty(one.labels))
          : ctx.fetch(services, byIndex(byNamespace, one.ns));
        return { key: `${one.ns}/${one.name}`, services: found.map((service) => service.name) };
      });
      return { services, ran };
    }
    const service = (ns: string, app: string, name = "s"): Service => ({
      ns,
      name,
      selector: { app },
    });

    it("S035 index dependencies are precise", () => {
      const { services, ran } = build(false);
      ran.length = 0;
      services.set(service("ns-0", "app-1"));
      expect([...new Set(ran.map((one) => one.ns))]).toEqual(["ns-0"]);
      expect(ran.length).toBe(500);
    });

    it("S035 an object that moves between index keys runs both sides", () => {
      const { rt } = rig;
      const inputs = rt.source(["ns-0", "ns-1", "ns-2"]);
      const objects = rt.source([{ key: "s", ns: "ns-0" }]);
      const index = rt.index(objects, (object) => object.ns);
      const ran: string[] = [];
      rt.derive(inputs, (ctx, ns) => {
        ran.push(ns);
        return { key: ns, n: ctx.fetch(objects, byIndex(index, ns)).length };
      });
      ran.length = 0;
      objects.set({ key: "s", ns: "ns-1" });
      expect(ran.sort()).toEqual(["ns-0", "ns-1"]);
    });

    it("S036 with a selector filter on top only matching inputs run", () => {
      const { services, ran } = build(true);
      services.set(service("ns-0", "app-2"));
      ran.length = 0;
      services.set(service("ns-0", "app-4"));
      const ranApps = new Set(ran.map((one) => `${one.ns} ${one.labels?.app}`));
      expect([...ranApps].sort()).toEqual(["ns-0 app-2", "ns-0 app-4"]);
      expect(ran.length).toBe(40);
    });
  });

  it.each([
    [{ a: "1" }, 1],
    [{ a: "1", b: "2" }, 1],
    [{ a: "2" }, 0],
    [{ a: "1", c: "3" }, 0],
    [{}, 1],
  ])("S037 label filter %j matches %i", (filter, matches) => {
    const { rt } = rig;
    const maps = configMapSource(rt, [{ name: "m", labels: { a: "1", b: "2" } }]);
    const count = rt.deriveSingleton((ctx) => ctx.fetch(maps, byLabels(filter as Labels)).length);
    expect(count.value).toBe(matches);
  });

  describe("selectors", () => {
    const x = { ns: "n", name: "X", selector: {} };
    const y = { ns: "n", name: "Y", selector: { app: "foo" } };
    const z = { ns: "n", name: "Z", selector: { app: "foo", v: "1" } };
    const found = (labels: Labels | undefined, nonEmpty: boolean): string => {
      const services = serviceSource(rig.rt, [x, y, z]);
      const filter = nonEmpty ? selectingNonEmpty(labels) : selecting(labels);
      const names = rig.rt.deriveSingleton((ctx) =>
        ctx
          .fetch(services, filter)
          .map((service) => service.name)
          .sort()
          .join(),
      );
      return names.value ?? "";
    };

    it("S038 an empty selector selects everything", () => {
      expect(found({ app: "foo" }, false)).toBe("X,Y");
      expect(found({ app: "foo", v: "1" }, false)).toBe("X,Y,Z");
      expect(found({}, false)).toBe("X");
    });

    it("S039 or, in the other filter, nothing", () => {
      expect(found({ app: "foo" }, true)).toBe("Y");
      expect(found({ app: "foo", v: "1" }, true)).toBe("Y,Z");
      expect(found({}, true)).toBe("");
      expect(found(undefined, true)).toBe("");
    });
  });

  it("S040 an empty set of keys matches nothing, and later adds change nothing", () => {
    const { rt } = rig;
    const maps = configMapSource(rt, [{ name: "a" }]);
    let runs = 0;
    const count = rt.deriveSingleton((ctx) => {
      runs++;
      return ctx.fetch(maps, byKeys([])).length;
    });
    expect(count.value).toBe(0);
    maps.set({ name: "b" });
    expect(count.value).toBe(0);
    expect(runs).toBe(1);
  });

  it("S045 dependencies follow a condition", () => {
    const { rt } = rig;
    const flags = rt.source([{ key: "i", useA: true }]);
    const a = rt.source([{ key: "x", v: 1 }]);
    const b = rt.source([{ key: "x", v: 10 }]);
    let runs = 0;
    const out = rt.derive(flags, (ctx, { key, useA }) => {
      runs++;
      return { key, v: ctx.fetchOne(useA ? a : b, byKey("x"))?.v };
    });
    flags.set({ key: "i", useA: false });
    runs = 0;
    a.set({ key: "x", v: 2 });
    expect(runs).toBe(0);
    b.set({ key: "x", v: 20 });
    expect(runs).toBe(1);
    expect(out.get("i")?.v).toBe(20);
  });

  it("S046 a derivation waits for a dependency that is not synced", async () => {
    const { rt } = rig;
    const inputs = rt.source(["i"]);
    const late = rt.source<ConfigMap>([], { synced: false });
    const out = rt.derive(inputs, (ctx, key) => ({
      key,
      names: ctx.fetch(late).map((m) => m.name),
    }));
    const tracker = trackEvents(out);
    await rt.settled();
    expect(out.synced).toBe(false);
    expect(out.list()).toEqual([]);
    late.set({ ns: "ns", name: "a" });
    await rt.settled();
    expect(out.synced).toBe(false);
    late.markSynced();
    expect(out.synced).toBe(true);
    await rt.settled();
    expect(tracker.events).toEqual([
      { type: "add", key: "i", old: undefined, new: { key: "i", names: ["a"] } },
    ]);
  });

  it("S047 nothing is missed while a dependency is written around the first fetch", async () => {
    const { rt } = rig;
    const gate = rt.cell<string>();
    const objects = rt.source<{ key: string; v: number }>();
    const sum = rt.derive(gate, (ctx, key) => ({
      key,
      sum: ctx.fetch(objects).reduce((total, { v }) => total + v, 0),
    }));
    for (let i = 0; i < 100; i++) {
      if (i === 37) gate.set("go");
      if (i === 73) await rt.settled();
      objects.set({ key: `${i % 10}`, v: i });
    }
    await rt.settled();
    const expected = objects.list().reduce((total, { v }) => total + v, 0);
    expect(sum.get("go")?.sum).toBe(expected);
  });

  it("S048-S049 a discarded run gives at most a default", () => {
    const { rt } = rig;
    const initial = rt.deriveSingleton((ctx) => {
      ctx.discard();
      return { v: "initial" };
    });
    expect(initial.synced).toBe(true);
    expect(initial.value).toEqual({ v: "initial" });
    const nothing = rt.deriveSingleton<{ v: string }>((ctx) => {
      ctx.discard();
      return undefined;
    });
    expect(nothing.synced).toBe(true);
    expect(nothing.value).toBeUndefined();
  });

  it("S050 a discarded run keeps the last value", async () => {
    const { rt } = rig;
    const state = rt.external("initial");
    const value = rt.deriveSingleton((ctx) => {
      const v = state.get(ctx);
      if (v === "skip") ctx.discard();
      return v === "skip" ? undefined : { v };
    });
    const tracker = trackEvents(value);
    state.set("skip");
    expect(value.value).toEqual({ v: "initial" });
    state.set("final");
    expect(value.value).toEqual({ v: "final" });
    await rt.settled();
    expect(tracker.take()).toEqual(["add/static", "update/static"]);
  });

  it("S051 a discarded run tracks what it fetched", () => {
    const { rt } = rig;
    const switches = rt.cell({ key: "s", look: false });
    const maps = configMapSource(rt);
    let runs = 0;
    const out = rt.deriveSingleton((ctx) => {
      runs++;
      if (ctx.fetchOne(switches)?.look !== true) return { found: false };
      const found = ctx.fetchOne(maps, byKey("ns/x")) !== undefined;
      if (!found) ctx.discard();
      return { found };
    });
    switches.set({ key: "s", look: true });
    expect(out.value).toEqual({ found: false });
    runs = 0;
    maps.set({ ns: "ns", name: "x" });
    expect(runs).toBe(1);
    expect(out.value).toEqual({ found: true });
  });
});

describe("augmentation", () => {
  it("a kind gives objects traits they do not have, for fetches and for changes alike", () => {
    using rig = createRig();
    const { rt } = rig;
    const rules = rt.source([{ key: "r", on: "app=web" }], {
      kind: kind<{ key: string; on: string }>()({
        key: (rule) => rule.key,
        selector: (rule) => Object.fromEntries([rule.on.split("=")]),
      }),
    });
    const pods = rt.source(["web", "db"]);
    let runs = 0;
    const ruled = rt.derive(pods, (ctx, app) => {
      runs++;
      return { key: app, n: ctx.fetch(rules, selecting({ app })).length };
    });
    expect(ruled.list()).toEqual([
      { key: "web", n: 1 },
      { key: "db", n: 0 },
    ]);
    runs = 0;
    rules.set({ key: "r", on: "app=db" });
    expect(ruled.list().map(({ n }) => n)).toEqual([0, 1]);
    rules.set({ key: "r2", on: "app=other" });
    expect(runs).toBe(2);
  });
});

describe("fetches that are refused", () => {
  it("S041 fetching one finds none, one, or fails with the collection's name", () => {
    using rig = createRig();
    const { rt, errors } = rig;
    const maps = configMapSource(rt);
    const one = rt.deriveSingleton((ctx) => ({ name: ctx.fetchOne(maps)?.name ?? "none" }));
    expect(one.value).toEqual({ name: "none" });
    maps.set({ name: "a" });
    expect(one.value).toEqual({ name: "a" });
    maps.set({ name: "b" });
    expect(one.value, "the last good value").toEqual({ name: "a" });
    expect(errors.map((error) => error.code)).toEqual(["KRT_NOT_ONE"]);
    expect(errors[0]?.message).toContain("ConfigMaps");
  });

  it("S042 a key and an index filter in one fetch are an error", () => {
    using rig = createRig();
    const maps = configMapSource(rig.rt);
    const index = rig.rt.namespaceIndex(maps);
    rig.rt.deriveSingleton((ctx) => ctx.fetch(maps, byKey("a"), byIndex(index, "b")).length);
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_FILTER"]);
  });

  it("S043 a fetch without a context is an error, but for the form that may list", () => {
    using rig = createRig();
    const maps = configMapSource(rig.rt, [{ name: "a", labels: { x: "y" } }, { name: "b" }]);
    let leaked: TransformationContext | undefined;
    rig.rt.deriveSingleton((ctx) => {
      leaked = ctx;
      return 1;
    });
    expect(() => leaked?.fetch(maps)).toThrow(expect.objectContaining({ code: "KRT_CONTEXT" }));
    expect(fetchOrList(undefined, maps).length).toBe(2);
    expect(fetchOrList(undefined, maps, byLabels({ x: "y" })).map((map) => map.name)).toEqual([
      "a",
    ]);
    const inside = rig.rt.deriveSingleton((ctx) => fetchOrList(ctx, maps).length);
    maps.set({ name: "c" });
    expect(inside.value).toBe(3);
  });

  it("S044 a filter on a trait the kind lacks does not compile, and matches nothing untyped", () => {
    using rig = createRig();
    const bare = rig.rt.source([{ key: "a" }], {
      kind: kind<{ key: string }>()({ key: (o) => o.key }),
    });
    const count = rig.rt.deriveSingleton(
      (ctx) =>
        // @ts-expect-error the kind has no labels
        ctx.fetch(bare, byLabels({ a: "1" })).length,
    );
    expect(count.value).toBeUndefined();
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_TRAIT"]);
  });

  it("an unknown collection is refused", () => {
    using rig = createRig();
    using other = createRig();
    const foreign = configMapSource(other.rt);
    rig.rt.deriveSingleton((ctx) => ctx.fetch(foreign).length);
    rig.rt.deriveSingleton((ctx) => ctx.fetch({} as typeof foreign).length);
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_FOREIGN", "KRT_FOREIGN"]);
  });

  it("inputs that share a stable predicate share one query", () => {
    using rig = createRig();
    const { rt } = rig;
    const inputs = rt.source(Array.from({ length: 100 }, (_, i) => i));
    const objects = rt.source([{ key: "a", on: true }]);
    let tested = 0;
    const isOn = where((object: { on: boolean }) => {
      tested++;
      return object.on;
    });
    const out = rt.derive(inputs, (ctx, i) => ({
      key: `${i}`,
      n: ctx.fetch(objects, isOn).length,
    }));
    tested = 0;
    objects.set({ key: "b", on: true });
    expect(out.get("99")?.n).toBe(2);
    expect(tested).toBeLessThan(20);
    expect(keysOf(out).length).toBe(100);
  });
});
