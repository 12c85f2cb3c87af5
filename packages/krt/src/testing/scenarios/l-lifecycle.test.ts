import { beforeEach, describe, expect, it } from "vitest";
import { byLabels, type Collection, fromWatch, kind, type Scope } from "../../index.ts";
import { mockInputs } from "../mock-inputs.ts";
import { trackEvents } from "../tracker.ts";
import {
  createRig,
  endpoints,
  type Pod,
  pod,
  podKind,
  podSource,
  type Rig,
  type Service,
  serviceKind,
  serviceSource,
  simplePods,
  simpleServices,
} from "./fixtures.ts";

let rig: Rig;
beforeEach(() => {
  rig = createRig();
  return () => {
    expect(rig.errors).toEqual([]);
    rig.rt.dispose();
  };
});

const labels = { app: "foo" };
const service: Service = { ns: "namespace", name: "svc", selector: labels };

describe("S147 stop releases everything on live sources", () => {
  /** What is built on the live sources in each cycle, with what it must hold. */
  const builds: Record<
    string,
    (
      scope: Scope,
      pods: Collection<Pod, "labels">,
      services: Collection<Service>,
    ) => [Collection<unknown>, number]
  > = {
    "one to many with fetch": (scope, pods, services) => [endpoints(scope, pods, services), 1],
    "merge-join": (scope, pods) => [scope.join([pods, pods], { merge: ([first]) => first }), 1],
    "nested join": (scope, pods) => [
      scope.joinNested(scope.source<Collection<Pod>>([pods]), { kind: podKind }),
      1,
    ],
    "checked join": (scope, pods) => {
      const other = scope.source([pod("other", "2")], { kind: podKind });
      return [scope.join<Pod>([pods, other]), 2];
    },
    "unchecked join": (scope, pods) => {
      const other = scope.source([pod("other", "2")], { kind: podKind });
      return [scope.join<Pod>([pods, other], { unchecked: true }), 2];
    },
    "derived singleton": (scope, pods) => [
      scope.deriveSingleton((ctx) => `count-${ctx.fetch(pods).length}`),
      1,
    ],
    "status collection": (scope, pods, services) => {
      const pair = scope.deriveWithStatus(services, (ctx, one) => ({
        status: { n: ctx.fetch(pods, byLabels(one.selector)).length },
        output: { key: one.name },
      }));
      return [pair.status, 1];
    },
    view: (scope, pods) => [scope.view(pods, ({ name }) => name), 1],
    groups: (scope, pods) => [scope.index(pods, (one) => one.ip).asCollection(), 1],
  };

  it.each(Object.entries(builds))("%s", async (_, build) => {
    const { rt } = rig;
    const pods = podSource(rt, [pod("pod", "1.2.3.4", labels)]);
    const services = serviceSource(rt, [service]);
    const state = () =>
      rt
        .inspect()
        .collections()
        .map(({ name, level, queries, subscriptions }) => ({
          name,
          level,
          queries,
          subscriptions: subscriptions.length,
        }));
    const before = state();
    for (let i = 0; i < 20; i++) {
      const scope = rt.scope();
      const [collection, size] = build(scope, pods, services);
      const tracker = trackEvents(collection);
      await collection.whenSynced();
      expect(collection.size).toBe(size);
      scope.dispose();
      expect(tracker.registration.closed).toBe(true);
    }
    expect(state()).toEqual(before);
    expect(rt.inspect().edges()).toEqual([]);
  });

  it("takes along at once what its runs have made", () => {
    const { rt } = rig;
    const names = rt.source(["a", "b"], { name: "names" });
    const made = rt.derive(names, (ctx, name) => ctx.scope().source([name], { name }));
    const inner = made.list();
    expect(inner).toHaveLength(2);
    made.dispose();
    expect(
      rt
        .inspect()
        .collections()
        .map((one) => one.name),
    ).toEqual(["names"]);
    expect(inner.every((one) => one.disposed)).toBe(true);
  });
});

describe("the inspector's list", () => {
  it("S148 has every type of collection until it is disposed", () => {
    const { rt } = rig;
    const names = () =>
      rt
        .inspect()
        .collections()
        .map((one) => one.name);
    const source = rt.source<string>([], { name: "static" });
    const scope = rt.scope();
    fromWatch(scope, { watch: ({ signal }) => stalled(signal) }, { name: "watch" });
    scope.cell("x", { name: "cell" });
    scope.view(source, (s) => s, { name: "view" });
    scope
      .index(source, (s) => s)
      .asCollection({ name: "ignored" })
      .dispose();
    scope.derive(source, (_, s) => s, { name: "derive" });
    scope.join([source, source], { merge: ([s]) => s, name: "merge" });
    scope.joinNested(scope.source<Collection<string>>([source], { name: "container" }), {
      name: "nested",
    });
    expect(names()).toEqual([
      "static",
      "watch",
      "cell",
      "view",
      "derive",
      "merge",
      "container",
      "nested",
    ]);
    scope.dispose();
    expect(names()).toEqual(["static"]);
  });

  it("S149 loses collections that are stopped before they are synced, and releases waiters", async () => {
    const { rt } = rig;
    const never = rt.source<string>([], { synced: false });
    const container = rt.source<Collection<string>>([never], { name: "container" });
    const waiting = [
      rt.derive(never, (_, s) => s),
      rt.join([never, never], { merge: ([s]) => s }),
      rt.joinNested(container),
    ];
    const waits = waiting.map((one) => one.whenSynced());
    const registration = waiting[0]!.subscribe(() => {}).whenSynced();
    expect(rt.inspect().collections().length).toBe(5);
    for (const one of waiting) one.dispose();
    expect(rt.inspect().collections().length).toBe(2);
    for (const wait of [...waits, registration]) {
      await expect(wait).rejects.toMatchObject({ code: "KRT_DISPOSED" });
    }
  });

  it("an aborted wait rejects with the signal's reason and leaves the collection alone", async () => {
    const { rt } = rig;
    const never = rt.source<string>([], { synced: false });
    const controller = new AbortController();
    const wait = never.whenSynced({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(wait).rejects.toThrow("enough");
    await expect(never.whenSynced({ signal: controller.signal })).rejects.toThrow("enough");
    never.markSynced();
    await never.whenSynced();
  });
});

/** A watch that yields nothing until it is given up. */
function stalled(signal: AbortSignal): AsyncIterable<never> {
  const next = () =>
    new Promise<IteratorResult<never>>((resolve) => {
      signal.addEventListener("abort", () => resolve({ done: true, value: undefined }));
    });
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

describe("dump", () => {
  function build() {
    const scope = rig.rt.scope({ prefix: "test" });
    const pods = podSource(scope, [pod("pod", "1.2.3.4", labels)]);
    const services = serviceSource(scope, [service]);
    endpoints(scope, simplePods(scope, pods), simpleServices(scope, services));
    return (name: string) =>
      rig.rt
        .inspect()
        .dump()
        .find((one) => one.name === name);
  }

  it("S150 has outputs, the input collection, and inputs with outputs and dependencies", () => {
    const dumpOf = build();
    expect(JSON.parse(JSON.stringify(rig.rt.inspect()))).toContainEqual(
      JSON.parse(JSON.stringify(dumpOf("test/Endpoints"))),
    );
    expect(JSON.parse(JSON.stringify(dumpOf("test/Endpoints")))).toEqual({
      uid: expect.any(Number),
      name: "test/Endpoints",
      state: {
        outputs: {
          "namespace/svc/pod": {
            namespace: "namespace",
            service: "svc",
            pod: "pod",
            ip: "1.2.3.4",
          },
        },
        inputCollection: "test/SimpleServices",
        inputs: {
          "namespace/svc": {
            outputs: ["namespace/svc/pod"],
            dependencies: ["test/SimplePods"],
          },
        },
        synced: true,
      },
    });
  });

  it("S151 works while a collection is not synced", () => {
    const { rt } = rig;
    const late = rt.source<string>([], { synced: false, name: "late" });
    rt.derive(late, (_, s) => s, { name: "derived" });
    expect(
      rt
        .inspect()
        .dump()
        .map(({ name, state }) => [name, state]),
    ).toEqual([
      ["late", { synced: false }],
      ["derived", { inputCollection: "late", synced: false }],
    ]);
  });

  it("joins list the keys of their members, singletons their one output", () => {
    const { rt } = rig;
    const members = [rt.source(["a"], { name: "m1" }), rt.source(["b"], { name: "m2" })] as const;
    rt.join([...members], { name: "join" });
    rt.joinNested(rt.source<Collection<string>>([members[0]], { name: "container" }), {
      name: "nested",
    });
    rt.deriveSingleton(() => 7, { name: "seven" });
    const stateOf = (name: string) =>
      rt
        .inspect()
        .dump()
        .find((one) => one.name === name)?.state;
    expect(stateOf("join")?.inputs).toEqual({ a: {}, b: {} });
    expect(stateOf("nested")?.inputs).toEqual({ [members[0].id]: { outputs: ["a"] } });
    expect(stateOf("seven")?.outputs).toEqual({ static: 7 });
  });
});

describe("scopes", () => {
  it("S153 a prefix is put before names, and prefixes nest", () => {
    const scope = rig.rt.scope({ prefix: "test" });
    expect(podSource(scope).name).toBe("test/Pods");
    expect(podSource(scope.scope({ prefix: "inner" })).name).toBe("test/inner/Pods");
  });

  it("a signal disposes a scope, or a collection", () => {
    const controller = new AbortController();
    const scope = rig.rt.scope({ signal: controller.signal });
    const inScope = scope.source(["a"]);
    const alone = rig.rt.source(["a"], { signal: controller.signal });
    controller.abort();
    expect([scope.disposed, inScope.disposed, alone.disposed]).toEqual([true, true, true]);
    expect(rig.rt.source(["a"], { signal: controller.signal }).disposed).toBe(true);
    expect(() => scope.source()).toThrow(expect.objectContaining({ code: "KRT_DISPOSED" }));
  });

  it("readers of a disposed collection keep its last state", () => {
    const { rt } = rig;
    const source = rt.source(["a"]);
    const inputs = rt.source(["i"]);
    const derived = rt.derive(inputs, (ctx, key) => ({ key, n: ctx.fetch(source).length }));
    source.dispose();
    expect(derived.get("i")?.n).toBe(1);
    inputs.set("j");
    expect(derived.get("j")?.n).toBe(1);
    expect(() => source.set("b")).toThrow(expect.objectContaining({ code: "KRT_DISPOSED" }));
  });

  it("a disposed runtime makes nothing more", () => {
    const other = createRig();
    const source = other.rt.source(["a"]);
    other.rt.dispose();
    expect(source.disposed).toBe(true);
    expect(() => other.rt.source()).toThrow(expect.objectContaining({ code: "KRT_DISPOSED" }));
  });
});

describe("S154 mock inputs", () => {
  const isPod = (object: unknown): object is Pod => "ip" in (object as object);
  const isService = (object: unknown): object is Service => "selector" in (object as object);

  it("splits a bag of objects by type, and names what was not requested", () => {
    const inputs = mockInputs(rig.rt, [pod("a", "1"), service, pod("b", "2")]);
    expect(inputs.collection(isPod, podKind).size).toBe(2);
    expect(() => inputs.verify()).toThrow(/nothing asked for 1 of .*"svc"/);
    expect(inputs.collection(isService, serviceKind).size).toBe(1);
    inputs.verify();
  });
});

describe("the kind of a collection that was given none", () => {
  it.each([
    ["a string", "own", "own"],
    ["a number", 7, "7"],
    ["an object with a key", { key: "k" }, "k"],
    ["an object with metadata", { metadata: { namespace: "ns", name: "n" } }, "ns/n"],
    ["an object with metadata, no namespace", { metadata: { name: "n" } }, "n"],
    ["an object with a name", { namespace: "ns", name: "n" }, "ns/n"],
  ])("%s", (_, object, key) => {
    expect([...rig.rt.source<unknown>([object]).keys()]).toEqual([key]);
  });

  it("a kind needs a key or a name, and a version where it compares versions", () => {
    expect(() => kind<Pod>()({ labels: (one) => one.labels })).toThrow(
      expect.objectContaining({ code: "KRT_INVALID_OPTION" }),
    );
    expect(() => kind<Pod>()({ key: (one) => one.name, equals: "version" })).toThrow(
      expect.objectContaining({ code: "KRT_INVALID_OPTION" }),
    );
  });
});
