import { beforeEach, describe, expect, it } from "vitest";
import { byIndex, type Event, latest } from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import {
  createRig,
  endpoints,
  entryServices,
  entrySource,
  keysOf,
  pod,
  podKind,
  podSource,
  type Rig,
  serviceSource,
  simplePods,
  simpleServices,
} from "./fixtures.ts";

interface Valued {
  readonly key: string;
  readonly v: string;
}

describe("join", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => {
      expect(rig.errors).toEqual([]);
      rig.rt.dispose();
    };
  });

  const modes = [{ unchecked: false }, { unchecked: true }];

  it.each(modes)("S094 three cells, %j", async (options) => {
    const { rt } = rig;
    const [c1, c2, c3] = [rt.cell<string>(), rt.cell<string>(), rt.cell<string>()];
    const all = rt.join([c1, c2, c3], options);
    const seen: string[] = [];
    all.subscribe((event) => void seen.push(latest(event)));
    for (const [cell, value] of [
      [c1, "c1/a"],
      [c2, "c2/a"],
      [c3, "c3/a"],
      [c1, "c1/b"],
    ] as const) {
      cell.set(value);
      await rt.settled();
      expect(seen.at(-1)).toBe(value);
    }
    expect([...all.list()].sort()).toEqual(["c1/b", "c2/a", "c3/a"]);
  });

  it.each([
    ...modes.map((mode) => ({ ...mode, before: true })),
    ...modes.map((mode) => ({ ...mode, before: false })),
  ])("S095 initial state exactly once, %j", async ({ unchecked, before }) => {
    const { rt } = rig;
    const [c1, c2] = [rt.cell<Valued>(), rt.cell<Valued>()];
    const write = () => {
      c1.set({ key: "c1/a", v: "1" });
      c2.set({ key: "c2/a", v: "2" });
    };
    if (before) write();
    const all = rt.join([c1, c2], { unchecked });
    if (!before) write();
    const replayed = trackEvents(all);
    const live = trackEvents(all, { replay: false });
    await rt.settled();
    expect(replayed.takeSorted()).toEqual(["add/c1/a", "add/c2/a"]);
    expect(live.take()).toEqual([]);
  });

  it("S096-S097 joins of derived collections as inputs and as dependencies", () => {
    const { rt } = rig;
    const labels = { app: "foo" };
    const pods = podSource(rt);
    const services = serviceSource(rt);
    const entries = entrySource(rt);
    const fixed = rt.cell(pod("name-static", "9.9.9.9", labels), { kind: podKind });
    const allPods = rt.join([simplePods(rt, pods), fixed]);
    const allServices = rt.join([simpleServices(rt, services), entryServices(rt, entries)]);
    const all = endpoints(rt, allPods, allServices);
    const ips = () =>
      all
        .list()
        .map((one) => `${one.service} ${one.pod} ${one.ip}`)
        .sort();

    pods.set(pod("name", "", labels));
    services.set({ ns: "namespace", name: "svc", selector: labels });
    pods.set(pod("name", "1.2.3.4", labels));
    expect(ips(), "S096").toEqual(["svc name 1.2.3.4", "svc name-static 9.9.9.9"]);
    fixed.set(undefined);
    expect(ips(), "S096").toEqual(["svc name 1.2.3.4"]);

    pods.set(pod("name", "1.2.3.5", labels));
    expect(ips(), "S097").toEqual(["svc name 1.2.3.5"]);
    pods.delete("namespace/name");
    expect(ips()).toEqual([]);
    pods.set(pod("name", "1.2.3.5", labels));
    pods.set(pod("name2", "2.3.4.5", labels));
    expect(ips()).toEqual(["svc name 1.2.3.5", "svc name2 2.3.4.5"]);
    entries.set({ ns: "namespace", name: "svc-entry", selector: labels });
    expect(all.size).toBe(4);
  });

  it("S098 a join is synced exactly", () => {
    const { rt } = rig;
    const pods = podSource(rt, [pod("name", "1.2.3.4")]);
    const fixed = rt.cell(pod("name-static", "9.9.9.9"), { kind: podKind });
    const all = rt.join([simplePods(rt, pods), fixed]);
    expect(all.synced).toBe(true);
    expect(
      all
        .list()
        .map((one) => one.ip)
        .sort(),
    ).toEqual(["1.2.3.4", "9.9.9.9"]);

    const late = rt.source<string>([], { synced: false });
    const waiting = rt.join([rt.source(["a"]), late]);
    expect(waiting.synced).toBe(false);
    late.set("b");
    late.markSynced();
    expect(waiting.synced).toBe(true);
    expect(keysOf(waiting)).toEqual(["a", "b"]);
  });

  it("S099 the first member wins, through every change of every member", async () => {
    const { rt } = rig;
    const [c1, c2, c3] = [rt.cell<Valued>(), rt.cell<Valued>(), rt.cell<Valued>()];
    const all = rt.join([c1, c2, c3]);
    const key = "ns/a";
    const seen: Event<Valued>[] = [];
    all.subscribe((event) => void seen.push(event));
    const take = async () => {
      await rt.settled();
      return seen.splice(0).map((e) => [e.type, e.old?.v, e.new?.v]);
    };
    c2.set({ key, v: "c2-value" });
    expect(await take()).toEqual([["add", undefined, "c2-value"]]);
    c1.set({ key, v: "c1-value" });
    expect(await take()).toEqual([["update", "c2-value", "c1-value"]]);
    c3.set({ key, v: "c3-value" });
    expect(await take()).toEqual([]);
    expect(all.get(key)?.v).toBe("c1-value");
    c2.set({ key, v: "c2-updated" });
    expect(await take()).toEqual([]);
    c1.set(undefined);
    expect(await take()).toEqual([["update", "c1-value", "c2-updated"]]);
    c2.set(undefined);
    expect(await take()).toEqual([["update", "c2-updated", "c3-value"]]);
    c3.set(undefined);
    expect(await take()).toEqual([["delete", "c3-value", undefined]]);
  });

  it("S100 a delete in a shadowed member is quiet", async () => {
    const { rt } = rig;
    const [c1, c2] = [rt.cell<Valued>(), rt.cell<Valued>()];
    const all = rt.join([c1, c2]);
    const tracker = trackEvents(all);
    c1.set({ key: "ns/b", v: "c1-b" });
    await rt.settled();
    expect(tracker.take()).toEqual(["add/ns/b"]);
    c2.set({ key: "ns/b", v: "c2-b" });
    c2.set(undefined);
    await rt.settled();
    expect(tracker.take()).toEqual([]);
    expect(all.get("ns/b")?.v).toBe("c1-b");
  });

  it("S101 both members in one turn give one event", async () => {
    const { rt } = rig;
    const [c1, c2] = [rt.source<Valued>(), rt.source<Valued>()];
    const all = rt.join([c1, c2]);
    const tracker = trackEvents(all);
    rt.batch(() => {
      c2.set({ key: "k", v: "lower" });
      c1.set({ key: "k", v: "higher" });
    });
    await rt.settled();
    expect(tracker.events.map((event) => event.new?.v)).toEqual(["higher"]);
    expect(tracker.take()).toEqual(["add/k"]);
    rt.batch(() => {
      c1.delete("k");
      c2.delete("k");
    });
    await rt.settled();
    expect(tracker.take()).toEqual(["delete/k"]);
  });

  it("S102 an index of a checked join has the winning objects only, each once", () => {
    const { rt } = rig;
    const [c1, c2] = [
      rt.source([{ key: "a", g: "x" }]),
      rt.source([
        { key: "a", g: "y" },
        { key: "b", g: "x" },
      ]),
    ];
    const all = rt.join([c1, c2]);
    const index = rt.index(all, (object) => object.g);
    const fetched = rt.deriveSingleton((ctx) =>
      ctx
        .fetch(all, byIndex(index, "y"))
        .map((object) => object.key)
        .join(),
    );
    expect(
      index
        .lookup("x")
        .map((object) => object.key)
        .sort(),
    ).toEqual(["a", "b"]);
    expect(index.lookup("y")).toEqual([]);
    c1.delete("a");
    expect(index.lookup("x").map((object) => object.key)).toEqual(["b"]);
    expect(index.lookup("y").map((object) => object.key)).toEqual(["a"]);
    expect(fetched.value).toBe("a");
  });

  it("S104 an empty join is synced and empty; one of one behaves as its member", async () => {
    const { rt } = rig;
    const none = rt.join<string>([]);
    expect([none.synced, none.size]).toEqual([true, 0]);
    const source = rt.source(["a"]);
    const one = rt.join([source]);
    const tracker = trackEvents(one);
    source.set("b");
    source.delete("a");
    await rt.settled();
    expect(tracker.take()).toEqual(["add/a", "add/b", "delete/a"]);
    expect(one.list()).toEqual(["b"]);
  });
});
