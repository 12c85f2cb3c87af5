import { beforeEach, describe, expect, it } from "vitest";
import { byLabels, type InputCollection, kind, latest, where } from "../../index.ts";
import { type EventTracker, trackEvents } from "../tracker.ts";
import {
  createRig,
  endpoints,
  keysOf,
  type Pod,
  pod,
  podSource,
  type Rig,
  serviceSource,
  simplePods,
  simpleServices,
  sizedPods,
} from "./fixtures.ts";

describe("derived collections, one to one and one to many", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => rig.rt.dispose();
  });

  it("S001 empty in, empty out", () => {
    const simple = simplePods(rig.rt, podSource(rig.rt));
    expect(simple.synced).toBe(true);
    expect(simple.list()).toEqual([]);
  });

  it("S002-S006 an output follows its input from nothing to nothing", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const simple = simplePods(rt, pods);
    const early = trackEvents(simple);

    pods.set(pod("name", ""));
    await rt.settled();
    expect(simple.list(), "S002").toEqual([]);
    expect(early.take(), "S002").toEqual([]);

    pods.set(pod("name", "1.2.3.4"));
    await rt.settled();
    expect(simple.list(), "S003").toEqual([{ ns: "namespace", name: "name", ip: "1.2.3.4" }]);

    pods.set(pod("name", "1.2.3.5"));
    await rt.settled();
    expect(simple.list(), "S004").toEqual([{ ns: "namespace", name: "name", ip: "1.2.3.5" }]);

    const late = trackEvents(simple);
    await rt.settled();
    expect(late.take(), "S005").toEqual(["add/namespace/name"]);

    pods.delete("namespace/name");
    await rt.settled();
    expect(simple.list(), "S006").toEqual([]);
    expect(late.events.map((event) => latest(event).ip)).toEqual(["1.2.3.5"]);
    expect(late.take(), "S006").toEqual(["delete/namespace/name"]);
  });

  it("S007 sync covers a two-level chain and a fetch", () => {
    const { rt } = rig;
    const pods = podSource(rt, [pod("pod", "1.2.3.4", { app: "foo" })]);
    const services = serviceSource(rt, [
      { ns: "namespace", name: "svc", selector: { app: "foo" } },
    ]);
    const all = endpoints(rt, simplePods(rt, pods), simpleServices(rt, services));
    expect(all.synced).toBe(true);
    expect(all.list()).toEqual([
      { namespace: "namespace", service: "svc", pod: "pod", ip: "1.2.3.4" },
    ]);
  });

  it("S008-S009 one to many follows secondary changes and yields several outputs", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const services = serviceSource(rt);
    const all = endpoints(rt, simplePods(rt, pods), simpleServices(rt, services));
    const labels = { app: "foo" };

    pods.set(pod("pod", "", labels));
    services.set({ ns: "namespace", name: "svc", selector: labels });
    expect(all.list()).toEqual([]);
    pods.set(pod("pod", "1.2.3.4", labels));
    expect(all.get("namespace/svc/pod")?.ip).toBe("1.2.3.4");
    pods.set(pod("pod", "1.2.3.5", labels));
    expect(all.get("namespace/svc/pod")?.ip).toBe("1.2.3.5");
    pods.delete("namespace/pod");
    expect(all.list()).toEqual([]);

    pods.set(pod("pod", "1.2.3.5", labels));
    pods.set(pod("name2", "2.3.4.5", labels));
    expect(keysOf(all), "S009").toEqual(["namespace/svc/name2", "namespace/svc/pod"]);
  });

  it("S018 an equal output gives no event", async () => {
    const { rt } = rig;
    const pods = podSource(rt);
    let runs = 0;
    const names = rt.derive(pods, (_, { ns, name }) => {
      runs++;
      return { key: `${ns}/${name}` };
    });
    pods.set(pod("name", "1"));
    const tracker = trackEvents(names);
    await rt.settled();
    tracker.take();
    for (const ip of ["2", "3", "4"]) pods.set(pod("name", ip));
    await rt.settled();
    expect(runs).toBe(4);
    expect(tracker.take()).toEqual([]);
  });

  it("S022 metadata is what was given, or none", () => {
    const { rt } = rig;
    const pods = podSource(rt);
    const given = rt.derive(pods, (_, { name }) => name, { metadata: { key1: "value1" } });
    expect(given.metadata).toEqual({ key1: "value1" });
    expect(rt.derive(pods, (_, { name }) => name).metadata).toBeUndefined();
  });

  it("S023 two inputs that yield the same output key are both named", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["a", "b"], { name: "inputs" });
    const constant = rt.derive(inputs, (_, input) => ({ key: "x", input }), { name: "constant" });
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([
      {
        code: "KRT_DUPLICATE_OUTPUT",
        details: { collection: "constant", key: "x", inputs: ["a", "b"] },
      },
    ]);
    expect(constant.size).toBe(1);
    inputs.delete("b");
    expect(constant.list(), "the other input's output comes back").toEqual([
      { key: "x", input: "a" },
    ]);
  });

  it("a key that moves from one input to another within a turn is an update", async () => {
    const { rt, errors } = rig;
    const inputs = rt.source([
      { key: "a", out: "x" },
      { key: "b", out: "y" },
    ]);
    const outputs = rt.derive(inputs, (_, { key, out }) => ({ key: out, from: key }));
    const tracker = trackEvents(outputs);
    await rt.settled();
    tracker.take();
    for (const [first, second] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const [left, right] = [inputs.get("a")!.out, inputs.get("b")!.out];
      rt.batch(() => {
        inputs.set({ key: first, out: first === "a" ? right : left });
        inputs.set({ key: second, out: second === "a" ? right : left });
      });
      await rt.settled();
      expect(tracker.takeSorted()).toEqual(["update/x", "update/y"]);
    }
    expect(errors).toEqual([]);
  });
});

interface Thing {
  readonly ns: string;
  readonly name: string;
  readonly count: number;
}

/*
 *        Pods
 *       /    \
 * SimplePods  SizedPods
 *       \    /
 *       Things     (primary left, fetched right)
 */
describe("a diamond over one source", () => {
  let rig: Rig;
  let pods: InputCollection<Pod, "name" | "namespace" | "labels">;
  let tracker: EventTracker<Thing>;
  let count: (name: string) => number | undefined;
  let size: () => number;

  beforeEach(() => {
    rig = createRig();
    const { rt } = rig;
    pods = podSource(rt);
    const sized = sizedPods(rt, pods);
    const things = rt.derive(
      simplePods(rt, pods),
      (ctx, { ns, name, labels }): Thing | undefined => {
        const wanted = labels?.["want-size"];
        if (wanted === undefined) return undefined;
        const matching = ctx.fetch(
          sized,
          where((one) => one.size === wanted),
        );
        return { ns, name, count: matching.length };
      },
      { kind: kind<Thing>()({ name: (thing) => thing.name, namespace: (thing) => thing.ns }) },
    );
    tracker = trackEvents(things);
    count = (name) => things.get(`namespace/${name}`)?.count;
    size = () => things.size;
    return () => rig.rt.dispose();
  });

  it("S010-S017 counts follow every change of either side, each in one event", async () => {
    const { rt } = rig;
    pods.set(pod("name", "1.2.3.4", { "want-size": "large" }));
    await rt.settled();
    expect(tracker.take(), "S010").toEqual(["add/namespace/name"]);
    expect(count("name")).toBe(0);

    pods.set(pod("name-large", "1.2.3.5", { size: "large" }));
    await rt.settled();
    expect(tracker.take(), "S011").toEqual(["update/namespace/name"]);
    expect(count("name")).toBe(1);

    pods.set(pod("name-small", "1.2.3.6", { size: "small" }));
    pods.set(pod("name-large", "1.2.3.5", { size: "large" }));
    await rt.settled();
    expect(tracker.take(), "S012").toEqual([]);
    expect(count("name")).toBe(1);

    pods.set(pod("name-large2", "1.2.3.7", { size: "large" }));
    await rt.settled();
    expect(tracker.take(), "S013").toEqual(["update/namespace/name"]);
    expect(count("name")).toBe(2);

    pods.set(pod("name-dual", "1.2.3.8", { size: "large", "want-size": "small" }));
    await rt.settled();
    expect(tracker.takeSorted(), "S014").toEqual([
      "add/namespace/name-dual",
      "update/namespace/name",
    ]);
    expect([count("name"), count("name-dual")]).toEqual([3, 1]);

    pods.set(pod("name-large2", "1.2.3.7", { size: "small" }));
    await rt.settled();
    expect(tracker.batches.length, "S015: one batch").toBe(1);
    expect(tracker.takeSorted(), "S015").toEqual([
      "update/namespace/name",
      "update/namespace/name-dual",
    ]);
    expect([count("name"), count("name-dual")]).toEqual([2, 2]);

    pods.delete("namespace/name-dual");
    await rt.settled();
    expect(tracker.takeSorted(), "S016").toEqual([
      "delete/namespace/name-dual",
      "update/namespace/name",
    ]);
    expect(count("name")).toBe(1);

    pods.delete("namespace/name-large");
    await rt.settled();
    expect(tracker.take(), "S017").toEqual(["update/namespace/name"]);
    expect(count("name")).toBe(0);
    pods.delete("namespace/name");
    await rt.settled();
    expect(tracker.take(), "S017").toEqual(["delete/namespace/name"]);
    expect(size()).toBe(0);
  });

  it("S159 a batch that changes both sides gives one event and one run", async () => {
    const { rt } = rig;
    rt.batch(() => {
      pods.set(pod("name", "1.2.3.4", { "want-size": "large" }));
      for (let i = 0; i < 5; i++) pods.set(pod(`large-${i}`, `1.2.4.${i}`, { size: "large" }));
    });
    await rt.settled();
    expect(tracker.take()).toEqual(["add/namespace/name"]);
    expect(count("name")).toBe(5);
  });
});

describe("labels of an input with no trait function result", () => {
  it("an object without labels matches only an empty label filter", () => {
    using rig = createRig();
    const pods = podSource(rig.rt, [pod("bare", "1")]);
    const found = rig.rt.deriveSingleton((ctx) => ({
      empty: ctx.fetch(pods, byLabels({})).length,
      some: ctx.fetch(pods, byLabels({ app: "x" })).length,
    }));
    expect(found.value).toEqual({ empty: 1, some: 0 });
  });
});
