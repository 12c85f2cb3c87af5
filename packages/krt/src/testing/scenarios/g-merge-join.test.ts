import { beforeEach, describe, expect, it } from "vitest";
import { type Collection, type InputCollection, kind, type Labels } from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import { createRig, keysOf, type Rig } from "./fixtures.ts";

interface Svc {
  readonly ns: string;
  readonly name: string;
  readonly selector: Labels;
  readonly ip?: string;
}

const svcKind = kind<Svc>()({
  name: (svc) => svc.name,
  namespace: (svc) => svc.ns,
  selector: (svc) => svc.selector,
});

/** Rule M of the scenarios: union of selectors, earlier members win; an `app` becomes `foo`. */
function mergeServices(versions: readonly Svc[]): Svc {
  const [first] = versions as [Svc];
  const selector: Record<string, string> = {};
  for (const version of [...versions].reverse()) Object.assign(selector, version.selector);
  if (selector.app !== undefined) selector.app = "foo";
  return { ...first, selector };
}

const svc = (selector: Labels, ip?: string, name = "svc"): Svc => ({
  ns: "namespace",
  name,
  selector,
  ...(ip !== undefined && { ip }),
});

describe("merge-join and nested merge-join", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => {
      expect(rig.errors).toEqual([]);
      rig.rt.dispose();
    };
  });

  const sourceOf = (
    initial: readonly Svc[] = [],
    name?: string,
  ): InputCollection<Svc, "name" | "namespace" | "selector"> =>
    rig.rt.source(initial, { kind: svcKind, ...(name !== undefined && { name }) });

  const options = { kind: svcKind, merge: mergeServices };

  it("S105-S106 versions are merged in list order", async () => {
    const { rt } = rig;
    const one = rt.join([sourceOf([svc({ app: "foo" })])], options);
    const first = trackEvents(one);
    await rt.settled();
    expect(first.take(), "S105").toEqual(["add/namespace/svc"]);
    expect(one.get("namespace/svc")?.selector).toEqual({ app: "foo" });

    const both = rt.join(
      [sourceOf([svc({ app: "foo" })]), sourceOf([svc({ app: "bar", version: "v1" })])],
      options,
    );
    const second = trackEvents(both);
    await rt.settled();
    expect(second.take(), "S106").toEqual(["add/namespace/svc"]);
    expect(both.get("namespace/svc")?.selector).toEqual({ app: "foo", version: "v1" });
  });

  /** Sorted addresses per namespace, from the groups of the namespace index. */
  function ipsByNamespace(services: Collection<Svc, "namespace">) {
    const groups = rig.rt.namespaceIndex(services).asCollection();
    return rig.rt.derive(groups, (_, { key, objects }) => ({
      key,
      ips: objects.map((object) => object.ip ?? "").sort(),
    }));
  }

  it("S107 group-by on a merge-join", async () => {
    const { rt } = rig;
    const m1 = sourceOf([svc({}, "1.2.3.4")]);
    const m2 = sourceOf([svc({}, "1.2.3.5", "svc2"), svc({}, "1.2.3.4")]);
    const ips = ipsByNamespace(rt.join([m1, m2], options));
    const tracker = trackEvents(ips);
    await rt.settled();
    expect(tracker.take()).toEqual(["add/namespace"]);
    expect(ips.get("namespace")?.ips).toEqual(["1.2.3.4", "1.2.3.5"]);
    m1.set(svc({}, "1.2.3.6", "svc3"));
    await rt.settled();
    expect(tracker.take()).toEqual(["update/namespace"]);
    expect(ips.get("namespace")?.ips).toEqual(["1.2.3.4", "1.2.3.5", "1.2.3.6"]);
  });

  it("S108 deletes give one update, then one delete with the last merged value", async () => {
    const { rt } = rig;
    const m1 = sourceOf([svc({ app: "a" })]);
    const m2 = sourceOf([svc({ v: "1" })]);
    const joined = rt.join([m1, m2], options);
    const index = rt.namespaceIndex(joined);
    const tracker = trackEvents(joined, { replay: false });
    m2.delete("namespace/svc");
    await rt.settled();
    expect(tracker.take()).toEqual(["update/namespace/svc"]);
    m1.delete("namespace/svc");
    await rt.settled();
    expect(tracker.events.map((event) => event.old?.selector)).toEqual([{ app: "foo" }]);
    expect(tracker.take()).toEqual(["delete/namespace/svc"]);
    expect(index.lookup("namespace")).toEqual([]);
  });

  it("S109 a change that leaves the merged value equal is quiet", async () => {
    const { rt } = rig;
    const m2 = sourceOf([svc({ app: "b" })]);
    const joined = rt.join([sourceOf([svc({ app: "a" })]), m2], options);
    const tracker = trackEvents(joined, { replay: false });
    m2.set(svc({ app: "c" }));
    await rt.settled();
    expect(tracker.take()).toEqual([]);
  });

  it("a merge that yields nothing makes the key absent", () => {
    const { rt } = rig;
    const member = rt.source([{ key: "a", hide: false }]);
    const joined = rt.join([member], {
      merge: ([first]) => (first?.hide === true ? undefined : first),
    });
    expect(keysOf(joined)).toEqual(["a"]);
    member.set({ key: "a", hide: true });
    expect(keysOf(joined)).toEqual([]);
  });

  it("S110 churn of one key in two members never gives an event out of order", async () => {
    const { rt } = rig;
    const members = [
      rt.source<{ key: string; v: number }>(),
      rt.source<{ key: string; v: number }>(),
    ];
    const joined = rt.join(members, {
      merge: (versions) => ({ key: "k", v: versions.reduce((sum, { v }) => sum * 1000 + v, 0) }),
    });
    let known: { v: number } | undefined;
    joined.subscribe((event) => {
      expect(event.old, event.type).toEqual(known);
      expect(event.old ?? event.new).toBeDefined();
      known = event.new;
    });
    let seed = 7;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    for (let i = 0; i < 200; i++) {
      const member = members[random(2)];
      if (random(2) === 0) member?.set({ key: "k", v: random(9) });
      else member?.delete("k");
      if (random(4) === 0) await rt.settled();
    }
    await rt.settled();
    const versions = members.flatMap((member) => [...member.list()]);
    const expected = versions.reduce((sum, { v }) => sum * 1000 + v, 0);
    expect(joined.get("k")).toEqual(versions.length === 0 ? undefined : { key: "k", v: expected });
    expect(known).toEqual(joined.get("k"));
  });

  it("S111-S113 members of a nested join come, go, and come back", async () => {
    const { rt } = rig;
    const a = sourceOf([svc({ app: "foo" })], "A");
    const b = sourceOf([svc({ app: "bar", version: "v1" })], "B");
    const container = rt.source<Collection<Svc>>([a]);
    const joined = rt.joinNested(container, options);
    const tracker = trackEvents(joined);
    const selector = () => joined.get("namespace/svc")?.selector;
    const take = async () => {
      await rt.settled();
      return tracker.take();
    };
    expect(await take(), "S111").toEqual(["add/namespace/svc"]);
    container.set(b);
    expect(await take(), "S111").toEqual(["update/namespace/svc"]);
    expect(selector()).toEqual({ app: "foo", version: "v1" });

    container.delete("B");
    expect(await take(), "S112").toEqual(["update/namespace/svc"]);
    expect(selector()).toEqual({ app: "foo" });
    container.delete("A");
    expect(await take(), "S112").toEqual(["delete/namespace/svc"]);
    expect(selector()).toBeUndefined();

    container.set(a);
    expect(await take(), "S113").toEqual(["add/namespace/svc"]);
    container.set(b);
    expect(await take(), "S113").toEqual(["update/namespace/svc"]);
    expect(selector()).toEqual({ app: "foo", version: "v1" });
  });

  it("S114 group-by on a nested join", async () => {
    const { rt } = rig;
    const a = sourceOf([svc({ app: "foo" }, "1.2.3.4")], "A");
    const b = sourceOf(
      [
        svc({ app: "bar", version: "v1" }, "1.2.3.5", "svc2"),
        svc({ app: "bar", version: "v1" }, "1.2.3.4"),
      ],
      "B",
    );
    const container = rt.source<Collection<Svc>>([a]);
    const joined = rt.joinNested(container, options);
    const ips = ipsByNamespace(joined);
    const tracker = trackEvents(ips);
    expect(ips.get("namespace")?.ips).toEqual(["1.2.3.4"]);
    container.set(b);
    await rt.settled();
    expect(joined.get("namespace/svc")).toEqual(svc({ app: "foo", version: "v1" }, "1.2.3.4"));
    expect(joined.get("namespace/svc2")).toEqual(
      svc({ app: "foo", version: "v1" }, "1.2.3.5", "svc2"),
    );
    expect(tracker.take()).toEqual(["add/namespace", "update/namespace"]);
  });

  it("S115 members without objects come and go quietly", async () => {
    const { rt } = rig;
    const container = rt.source<Collection<Svc>>();
    const joined = rt.joinNested(container, options);
    const tracker = trackEvents(joined);
    container.set(sourceOf([], "A"));
    container.delete("A");
    await rt.settled();
    expect(tracker.take()).toEqual([]);
    expect(joined.synced).toBe(true);
  });

  type Plain = { readonly key: string; readonly v: number };
  const plain = (
    objects: Record<string, number>,
    name: string,
    synced = true,
  ): InputCollection<Plain> =>
    rig.rt.source(
      Object.entries(objects).map(([key, v]) => ({ key, v })),
      { name, synced },
    );

  it.each(["merge", "first"] as const)("S116 a member is swapped atomically (%s)", async (rule) => {
    const { rt } = rig;
    const container = rt.source<Collection<Plain>>([plain({ x: 1, y: 1 }, "c1")]);
    const joined = rt.joinNested(
      container,
      rule === "merge" ? { merge: (versions: readonly Plain[]) => versions[0] } : {},
    );
    const tracker = trackEvents(joined, { replay: false });
    container.set(plain({ y: 1, z: 1 }, "c1"));
    await rt.settled();
    expect(tracker.batches.length).toBe(1);
    expect(tracker.takeSorted()).toEqual(["add/z", "delete/x"]);
  });

  it("a member is not replaced by one that is not synced yet", async () => {
    const { rt } = rig;
    const container = rt.source<Collection<Plain>>([plain({ x: 1 }, "c1")]);
    const joined = rt.joinNested(container);
    const late = plain({ x: 1, y: 1 }, "c1", false);
    const tracker = trackEvents(joined, { replay: false });
    container.set(late);
    await rt.settled();
    expect(tracker.take()).toEqual([]);
    expect(keysOf(joined)).toEqual(["x"]);
    late.markSynced();
    await rt.settled();
    expect(tracker.take()).toEqual(["add/y"]);
  });

  it("S117 a member that is not synced appears when it is, and does not take back sync", () => {
    const { rt } = rig;
    const container = rt.source<Collection<Plain>>([plain({ x: 1 }, "c1")]);
    const joined = rt.joinNested(container);
    expect(joined.synced).toBe(true);
    const late = plain({ y: 1 }, "c2", false);
    container.set(late);
    expect(keysOf(joined)).toEqual(["x"]);
    expect(joined.synced).toBe(true);
    late.markSynced();
    expect(keysOf(joined)).toEqual(["x", "y"]);
  });

  it("S118 writes to a removed member are not seen", async () => {
    const { rt } = rig;
    const member = plain({ x: 1 }, "c1");
    const container = rt.source<Collection<Plain>>([member]);
    const joined = rt.joinNested(container);
    container.delete("c1");
    const tracker = trackEvents(joined);
    member.set({ key: "y", v: 1 });
    await rt.settled();
    expect(tracker.take()).toEqual([]);
    expect(joined.size).toBe(0);
  });

  it("a run cannot fetch from a collection it made", () => {
    const { rt, errors } = rig;
    const inputs = rt.source(["i"]);
    const derived = rt.derive(inputs, (ctx, key) => {
      const own = ctx.scope().source([key]);
      return { key, n: ctx.fetch(own).length };
    });
    expect(derived.synced).toBe(true);
    expect(errors.splice(0).map((error) => error.code)).toEqual(["KRT_CONTEXT"]);
    expect(rt.inspect().collections().length).toBe(2);
  });

  it("members may be made by a transformation, in a scope that ends with their input", () => {
    const { rt } = rig;
    const clusters = rt.source([{ key: "east", v: 1 }]);
    const members = rt.derive(
      clusters,
      (ctx, { key, v }): Collection<Plain> =>
        ctx.scope().source([{ key: `${key}/o`, v }], { name: key }),
    );
    const joined = rt.joinNested(members);
    expect(joined.list()).toEqual([{ key: "east/o", v: 1 }]);
    clusters.set({ key: "west", v: 2 });
    expect(keysOf(joined)).toEqual(["east/o", "west/o"]);
    const before = rt.inspect().collections().length;
    clusters.set({ key: "east", v: 3 });
    expect(joined.get("east/o")).toEqual({ key: "east/o", v: 3 });
    expect(rt.inspect().collections().length).toBe(before);
    clusters.delete("west");
    expect(keysOf(joined)).toEqual(["east/o"]);
    expect(rt.inspect().collections().length).toBe(before - 1);
  });
});
