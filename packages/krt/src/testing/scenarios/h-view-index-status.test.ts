import { beforeEach, describe, expect, it } from "vitest";
import { byIndex, byIndexKeys, byKeys, byLabels, type Labels, where } from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import {
  createRig,
  type Endpoint,
  endpointKind,
  keysOf,
  pod,
  podSource,
  type Rig,
  serviceSource,
  simplePods,
} from "./fixtures.ts";

let rig: Rig;
beforeEach(() => {
  rig = createRig();
  return () => {
    expect(rig.errors).toEqual([]);
    rig.rt.dispose();
  };
});

describe("map view", () => {
  const simple = ({ ns, name, ip }: { ns: string; name: string; ip: string }) => ({
    key: `${ns}/${name}`,
    ip,
  });

  it("S119 passes on what its base does, projected", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const view = rt.view(pods, simple);
    const tracker = trackEvents(view);
    pods.set(pod("pod1", "1.2.3.4", undefined, "ns1"));
    await rt.settled();
    expect(tracker.events.map((event) => event.new)).toEqual([{ key: "ns1/pod1", ip: "1.2.3.4" }]);
    expect(tracker.take()).toEqual(["add/ns1/pod1"]);
  });

  it("S120 can be indexed", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const view = rt.view(pods, simple);
    const byIp = rt.index(view, (one) => one.ip);
    for (let i = 1; i <= 3; i++) pods.set(pod(`pod${i}`, `1.2.3.${3 + i}`));
    for (let i = 1; i <= 3; i++) {
      const ip = `1.2.3.${3 + i}`;
      expect(byIp.lookup(ip)).toEqual([{ key: `namespace/pod${i}`, ip }]);
    }
    pods.set(pod("pod1", "1.2.3.9"));
    expect(byIp.lookup("1.2.3.4")).toEqual([]);
    expect(byIp.lookup("1.2.3.9").length).toBe(1);
  });

  it("S121 has its own metadata, or that of its base", () => {
    const { rt } = rig;
    const bare = rt.source<string>();
    const marked = rt.source<string>([], { metadata: { foo: "bar" } });
    expect(rt.view(bare, (s) => s).metadata).toBeUndefined();
    expect(rt.view(bare, (s) => s, { metadata: {} }).metadata).toEqual({});
    expect(rt.view(marked, (s) => s, { metadata: { foo: "own" } }).metadata).toEqual({
      foo: "own",
    });
    expect(rt.view(marked, (s) => s).metadata).toEqual({ foo: "bar" });
  });

  it("S123 a view of a merge-join works as a base", () => {
    const { rt } = rig;
    const members = [rt.source([{ key: "a", v: 1 }]), rt.source([{ key: "a", v: 2 }])];
    const joined = rt.join(members, {
      merge: (versions) => ({ key: "a", v: versions.reduce((sum, { v }) => sum + v, 0) }),
    });
    const view = rt.view(joined, ({ key, v }) => ({ key, text: `${v}` }));
    const out = rt.derive(
      rt.view(view, ({ key, text }) => ({ key, n: text.length })),
      (_, o) => o,
    );
    expect(view.get("a")).toEqual({ key: "a", text: "3" });
    members[1]?.set({ key: "a", v: 20 });
    expect(view.get("a")).toEqual({ key: "a", text: "21" });
    expect(out.get("a")).toEqual({ key: "a", n: 2 });
  });

  it("an update that leaves the projection equal is no event, and keeps the projected object", async () => {
    const { rt } = rig;
    const source = rt.source([{ key: "a", used: 1, unused: 1 }]);
    const view = rt.view(source, ({ key, used }) => ({ key, used }));
    let runs = 0;
    rt.derive(view, (_, { key }) => {
      runs++;
      return key;
    });
    const tracker = trackEvents(view, { replay: false });
    const before = view.get("a");
    source.set({ key: "a", used: 1, unused: 2 });
    await rt.settled();
    expect(tracker.take()).toEqual([]);
    expect(runs).toBe(1);
    expect(view.get("a")).toBe(before);
    source.set({ key: "a", used: 2, unused: 2 });
    expect(runs).toBe(2);
    expect(view.get("a")).toEqual({ key: "a", used: 2 });
  });

  it("a view can be fetched from, with filters on the projection", () => {
    const { rt } = rig;
    const source = rt.source([{ key: "a", v: 1 }]);
    const view = rt.view(source, ({ key, v }) => ({ key, even: v % 2 === 0 }));
    const isEven = where((one: { even: boolean }) => one.even);
    const count = rt.deriveSingleton((ctx) => ctx.fetch(view, isEven).length);
    expect(count.value).toBe(0);
    source.set({ key: "a", v: 2 });
    expect(count.value).toBe(1);
    source.set({ key: "a", v: 4 });
    source.delete("a");
    expect(count.value).toBe(0);
  });
});

describe("indexes", () => {
  it("S124 lookups are current once the write returns", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const byIp = rt.index(simplePods(rt, pods), (one) => one.ip);
    const names = (ip: string) =>
      byIp
        .lookup(ip)
        .map((one) => one.name)
        .sort();
    pods.set(pod("name", "1.2.3.4"));
    expect(names("1.2.3.4")).toEqual(["name"]);
    pods.set(pod("name", "1.2.3.5"));
    expect(names("1.2.3.4")).toEqual([]);
    expect(names("1.2.3.5")).toEqual(["name"]);
    pods.set(pod("name2", "1.2.3.5"));
    expect(names("1.2.3.5")).toEqual(["name", "name2"]);
    pods.delete("namespace/name");
    pods.delete("namespace/name2");
    expect(names("1.2.3.5")).toEqual([]);
    expect([...byIp.keys()]).toEqual([]);
  });

  it("S125 several index fetches of one collection in one run", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const simple = simplePods(rt, pods);
    const byIp = rt.index(simple, (one) => one.ip);
    const byMarker = rt.index(simple, (one) => (one.labels?.marker === "true" ? "yes" : undefined));
    const keys = rt.deriveSingleton((ctx) =>
      [
        ...ctx.fetch(simple, byIndex(byIp, "2.2.2.2")),
        ...ctx.fetch(simple, byIndex(byIp, "3.3.3.3")),
        ...ctx.fetch(simple, byIndex(byMarker, "yes")),
      ]
        .map((one) => one.name)
        .sort()
        .join(),
    );
    const set = (name: string, ip: string, labels?: Labels) => pods.set(pod(name, ip, labels));
    set("name1", "1.1.1.1");
    expect(keys.value).toBe("");
    set("name1", "2.2.2.2");
    expect(keys.value).toBe("name1");
    set("name2", "2.2.2.2");
    expect(keys.value).toBe("name1,name2");
    set("name3", "3.3.3.3");
    expect(keys.value).toBe("name1,name2,name3");
    set("name4", "4.4.4.4", { marker: "true" });
    expect(keys.value).toBe("name1,name2,name3,name4");
    const tracker = trackEvents(simple, { replay: false });
    pods.deleteWhere(() => true);
    await rt.settled();
    expect(tracker.take().length).toBe(4);
    expect(keys.value).toBe("");
  });

  it("S126 groups come, change and go with their members", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const groups = rt.index(simplePods(rt, pods), (one) => one.ip).asCollection();
    const counts = rt.derive(groups, (_, { key, objects }) => ({ key, count: objects.length }));
    pods.set(pod("name", "1.2.3.4"));
    expect(counts.get("1.2.3.4")?.count).toBe(1);
    expect(counts.get("1.2.3.9")).toBeUndefined();
    pods.set(pod("name2", "1.2.3.5"));
    expect(counts.get("1.2.3.5")?.count).toBe(1);
    pods.set(pod("name", "1.2.3.5"));
    expect(counts.get("1.2.3.4")).toBeUndefined();
    expect(counts.get("1.2.3.5")?.count).toBe(2);
    expect(
      groups.list().map((group) => [group.key, group.objects.map((o) => o.name).sort()]),
    ).toEqual([["1.2.3.5", ["name", "name2"]]]);
  });

  it("S127 an index fetch and a keys fetch in one run", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const simple = simplePods(rt, pods);
    const byIp = rt.index(simple, (one) => one.ip);
    const counts = rt.deriveSingleton((ctx) => ({
      byIp: ctx.fetch(simple, byIndex(byIp, "1.2.3.5")).length,
      byKeys: ctx.fetch(simple, byKeys(["namespace/name", "namespace/name3"])).length,
    }));
    const now = () => [counts.value?.byIp, counts.value?.byKeys];
    pods.set(pod("name", "1.2.3.4"));
    expect(now()).toEqual([0, 1]);
    pods.set(pod("name", "1.2.3.5"));
    expect(now()).toEqual([1, 1]);
    pods.set(pod("name2", "1.2.3.5"));
    expect(now()).toEqual([2, 1]);
    pods.set(pod("name3", "1.2.3.7"));
    expect(now()).toEqual([2, 2]);
    pods.delete("namespace/name");
    pods.delete("namespace/name2");
    expect(now()).toEqual([0, 1]);
  });

  it("S128 a group-by collection has its own metadata", () => {
    const { rt } = rig;
    const source = rt.source<string>([], { metadata: { foo: "bar" } });
    const index = rt.index(source, (s) => s);
    expect(index.asCollection({ metadata: { own: "yes" } }).metadata).toEqual({ own: "yes" });
    expect(index.asCollection().metadata).toBeUndefined();
  });

  it("S129 an index made late has everything", () => {
    const { rt } = rig;
    const source = rt.source(["a1", "a2", "b1"]);
    const index = rt.index(source, (s) => s[0]);
    expect([...index.lookup("a")].sort()).toEqual(["a1", "a2"]);
    expect(index.lookup("b")).toEqual(["b1"]);
  });

  it("S130 an object may be under several keys", () => {
    const { rt } = rig;
    const source = rt.source([{ key: "o", under: ["x", "y", "y"] }]);
    const index = rt.index(source, (object) => object.under);
    const at = (key: string) => index.lookup(key).length;
    expect([at("x"), at("y"), at("z")]).toEqual([1, 1, 0]);
    source.set({ key: "o", under: ["y", "z"] });
    expect([at("x"), at("y"), at("z")]).toEqual([0, 1, 1]);
    const both = rt.deriveSingleton(
      (ctx) => ctx.fetch(source, byIndexKeys(index, ["y", "z"])).length,
    );
    expect(both.value, "an object under both keys comes once").toBe(1);
    source.set({ key: "o", under: [] });
    expect([at("x"), at("y"), at("z"), both.value]).toEqual([0, 0, 0, 0]);
  });

  it("S131 an index name stands for one extractor", () => {
    const { rt } = rig;
    const source = rt.source(["a"]);
    const first = (s: string) => s[0];
    const index = rt.index(source, first, { name: "first" });
    expect(rt.index(source, first, { name: "first" })).toBe(index);
    expect(() => rt.index(source, (s) => s.length, { name: "first" })).toThrow(
      expect.objectContaining({ code: "KRT_INDEX_NAME" }),
    );
  });

  it("S133 a group-by collection cannot be indexed", () => {
    const { rt } = rig;
    const groups = rt.index(rt.source(["a"]), (s) => s).asCollection();
    expect(() => rt.index(groups, (group) => group.key)).toThrow(
      expect.objectContaining({ code: "KRT_INDEX_UNSUPPORTED" }),
    );
  });

  it("index keys may be objects that have a text", () => {
    const { rt } = rig;
    const source = rt.source([
      { key: "a", at: { x: 1, y: 2 } },
      { key: "b", at: { x: 1, y: 2 } },
    ]);
    const index = rt.index(source, (object) => object.at, { toText: ({ x, y }) => `${x},${y}` });
    expect(index.lookup({ x: 1, y: 2 }).length).toBe(2);
    expect([...index.keys()]).toEqual([{ x: 1, y: 2 }]);
    expect(index.asCollection().get("1,2")?.key).toEqual({ x: 1, y: 2 });
  });

  it("declared label indexes are used by themselves", () => {
    const { rt } = rig;
    let looked = 0;
    const labelled = (name: string, app: string) => pod(name, "1", { app });
    const pods = podSource(
      rt,
      Array.from({ length: 100 }, (_, i) => labelled(`p${i}`, `a${i % 50}`)),
    );
    rt.labelIndex(pods, ["app"]);
    const spied = where(() => {
      looked++;
      return true;
    });
    const wanted = rt.cell({ key: "w", app: "a7" });
    const found = rt.deriveSingleton((ctx) => {
      const app = ctx.fetchOne(wanted)?.app ?? "";
      return keysOf_(ctx.fetch(pods, byLabels({ app }), spied));
    });
    expect(found.value).toBe("p57,p7");
    expect(looked).toBe(2);
    wanted.set({ key: "w", app: "a8" });
    expect(found.value).toBe("p58,p8");
    pods.set(labelled("p7", "a8"));
    expect(found.value).toBe("p58,p7,p8");
  });

  const keysOf_ = (found: readonly { name: string }[]) =>
    found
      .map((one) => one.name)
      .sort()
      .join();
});

describe("status collections", () => {
  it("S134-S138 a status per input, beside the outputs", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const services = serviceSource(rt);
    const simple = simplePods(rt, pods);
    const { status, output } = rt.deriveManyWithStatus(
      services,
      (ctx, service) => {
        const found = ctx.fetch(simple, byLabels(service.selector));
        const gone = found.some((one) => one.labels?.["delete-status"] === "true");
        return {
          status: gone ? undefined : { validName: service.name.length === 5, total: found.length },
          output: found.map(
            ({ name, ip }): Endpoint => ({
              namespace: service.ns,
              service: service.name,
              pod: name,
              ip,
            }),
          ),
        };
      },
      { kind: endpointKind, name: "Endpoints" },
    );
    const tracker = trackEvents(status);
    const now = () => status.get("namespace/svc")?.status;
    const take = async () => {
      await rt.settled();
      return tracker.take();
    };
    const labels = { app: "foo" };
    const set = (ip: string, extra: Labels = {}) =>
      pods.set(pod("pod", ip, { ...labels, ...extra }));

    set("");
    expect(await take(), "S134").toEqual([]);
    services.set({ ns: "namespace", name: "svc", selector: labels });
    expect(await take(), "S135").toEqual(["add/namespace/svc"]);
    expect(now()).toEqual({ validName: false, total: 0 });
    set("1.2.3.4");
    expect(await take(), "S135").toEqual(["update/namespace/svc"]);
    expect(now()?.total).toBe(1);
    expect(output.list().map((one) => one.ip)).toEqual(["1.2.3.4"]);
    set("1.2.3.5");
    expect(await take(), "S136").toEqual([]);
    expect(output.list().map((one) => one.ip)).toEqual(["1.2.3.5"]);
    set("1.2.3.5", { "delete-status": "true" });
    expect(await take(), "S137").toEqual(["delete/namespace/svc"]);
    expect(now()).toBeUndefined();
    expect(output.size).toBe(1);
    set("1.2.3.5", { "delete-status": "false" });
    expect(await take(), "S137").toEqual(["add/namespace/svc"]);
    expect(now()?.total).toBe(1);
    pods.delete("namespace/pod");
    expect(await take(), "S138").toEqual(["update/namespace/svc"]);
    expect(now()?.total).toBe(0);
    expect(output.size).toBe(0);
    services.delete("namespace/svc");
    expect(await take(), "S138").toEqual(["delete/namespace/svc"]);
    expect(keysOf(status)).toEqual([]);
  });

  it("S139 a changed input with an equal status is an update", async () => {
    const { rt } = rig;
    const inputs = rt.source([{ key: "a", v: 1 }]);
    const { status } = rt.deriveWithStatus(inputs, (_, { key }) => ({
      status: "ok",
      output: { key },
    }));
    const tracker = trackEvents(status, { replay: false });
    inputs.set({ key: "a", v: 2 });
    await rt.settled();
    expect(tracker.take()).toEqual(["update/a"]);
    expect(status.get("a")).toEqual({ object: { key: "a", v: 2 }, status: "ok" });
  });

  it("S140 a status collection is synced only after its output", () => {
    const { rt } = rig;
    const late = rt.source<string>([], { synced: false });
    const { status, output } = rt.deriveWithStatus(rt.source(["a"]), (ctx, key) => ({
      status: { n: ctx.fetch(late).length },
      output: key,
    }));
    expect([output.synced, status.synced]).toEqual([false, false]);
    expect(status.size).toBe(0);
    late.markSynced();
    expect([output.synced, status.synced]).toEqual([true, true]);
    expect(status.get("a")?.status).toEqual({ n: 0 });
  });
});
