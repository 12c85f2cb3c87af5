import { describe, expect, it } from "vitest";
import {
  any,
  byIndex,
  byKey,
  byKeys,
  byLabels,
  byName,
  createRuntime,
  selecting,
  selectingNonEmpty,
  where,
} from "../index.ts";
import { podKind, podSource, serviceKind } from "../testing/scenarios/fixtures.ts";

function build() {
  const rt = createRuntime({ explain: true, timing: true, onError: () => {} });
  const pods = podSource(rt, [{ ns: "n", name: "a", ip: "1", labels: { app: "x" } }]);
  const services = rt.source([{ ns: "n", name: "s", selector: { app: "x" } }], {
    kind: serviceKind,
    name: "Services",
  });
  const byNamespace = rt.namespaceIndex(services);
  const workloads = rt.derive(
    pods,
    (ctx, pod) => {
      if (pod.ip === "bad") throw new Error("bad ip");
      return {
        key: `${pod.ns}/${pod.name}`,
        n: ctx.fetch(services, byIndex(byNamespace, pod.ns), selectingNonEmpty(pod.labels)).length,
      };
    },
    { name: "Workloads" },
  );
  return { rt, pods, services, workloads };
}

describe("inspector", () => {
  it("lists collections with their counters", async () => {
    const { rt, pods, workloads } = build();
    workloads.subscribe(() => new Promise(() => {}), { name: "blocked" });
    await rt.settled();
    pods.set({ ns: "n", name: "a", ip: "2", labels: { app: "x" } });
    pods.set({ ns: "n", name: "b", ip: "bad" });
    await rt.settled();
    const info = rt
      .inspect()
      .collections()
      .find((one) => one.name === "Workloads");
    expect(info).toMatchObject({
      type: "derive",
      level: 1,
      size: 1,
      synced: true,
      counters: { runs: 2, unchanged: 1, failed: 1, abandoned: 0, events: 1 },
      subscriptions: [{ name: "blocked", queued: 0, busy: true, synced: false }],
    });
    expect(info?.counters.timeMs).toBeGreaterThan(0);
    const services = rt
      .inspect()
      .collections()
      .find((one) => one.name === "Services");
    expect(services).toMatchObject({ queries: 1, indexes: ["namespace"] });
  });

  it("lists edges with what is fetched along them", () => {
    const { rt } = build();
    expect(rt.inspect().edges()).toEqual([
      { from: "Pods", to: "Workloads", type: "input", count: 1, filters: [] },
      {
        from: "Services",
        to: "Workloads",
        type: "fetch",
        count: 1,
        filters: ["namespace n and selects, not empty, app=x"],
      },
    ]);
  });

  it("describes an edge by the first inputs, however many there are", async () => {
    const rt = createRuntime();
    const numbers = rt.source(
      Array.from({ length: 3_000 }, (_, at) => ({ key: `k${at}` })),
      { name: "Numbers" },
    );
    const read = rt.derive(
      numbers,
      (ctx, { key }) => ({ key, found: ctx.fetch(numbers, byKey(key)).length }),
      { name: "Read" },
    );
    // The last input alone asks for all.
    const last = rt.derive(
      numbers,
      (ctx, { key }) => ({
        key,
        found: ctx.fetch(numbers, ...(key === "k2999" ? [] : [byKey(key)])).length,
      }),
      { name: "Last" },
    );
    for (const one of [read, last]) one.subscribe(() => undefined);
    await rt.settled();
    const found = rt.inspect();
    for (const { to, type, filters } of found.edges()) {
      if (type === "fetch") expect([to, filters.length]).toEqual([to, 8]);
    }
    expect(found.mermaid()).toContain("key x3000");
    expect(found.mermaid()).not.toContain("all");
    rt.dispose();
  });

  it("explains an input: outputs, dependencies, cause, failure", () => {
    const { rt, services, workloads } = build();
    const { explain, explainOutput } = bound(rt.inspect());
    expect(explain(workloads, "n/a")).toMatchObject({
      collection: "Workloads",
      input: "n/a",
      outputs: ["n/a"],
      dependencies: [
        {
          collection: "Services",
          filters: "namespace n and selects, not empty, app=x",
          matches: 1,
        },
      ],
      cause: { collection: "Pods", key: "n/a" },
      waitsFor: undefined,
      failure: undefined,
    });
    services.set({ ns: "n", name: "s2", selector: { app: "x" } });
    expect(explainOutput(workloads, "n/a")?.cause).toEqual({
      turn: rt.version,
      collection: "Services",
      key: "n/s2",
    });
    expect(explain(workloads, "absent")).toBeUndefined();
    expect(explain(services, "n/s")).toBeUndefined();
    expect(explainOutput(workloads, "absent")).toBeUndefined();
  });

  it("explains a run that was given up and repeated by what it began for", async () => {
    const rt = createRuntime({ explain: true });
    const pods = podSource(rt);
    const behind = rt.derive(
      rt.derive(pods, (_ctx, pod) => ({ ...pod })),
      (_ctx, pod) => ({ ...pod }),
    );
    // What it reads is final later than it first runs.
    const readers = rt.derive(pods, (ctx, { ns, name }) => {
      const key = `${ns}/${name}`;
      return { key, found: ctx.fetchOne(behind, byKey(key)) !== undefined };
    });
    readers.subscribe(() => undefined);
    await rt.settled();
    pods.set({ ns: "n", name: "a", ip: "1" });
    await rt.settled();
    expect(rt.inspect().explainOutput(readers, "n/a")?.cause).toMatchObject({
      collection: "Pods",
      key: "n/a",
    });
  });

  it("explains what an input waits for", () => {
    const { rt, pods } = build();
    const late = rt.source<string>([], { synced: false, name: "Late" });
    const waiting = rt.derive(pods, (ctx, pod) => `${pod.name}${ctx.fetch(late).length}`);
    expect(rt.inspect().explain(waiting, "n/a")?.waitsFor).toBe("Late");
    late.markSynced();
    expect(rt.inspect().explain(waiting, "n/a")).toMatchObject({
      waitsFor: undefined,
      cause: { collection: undefined },
    });
  });

  it("finds who fetches an object, and who waits for a key without one", () => {
    const { rt, pods, services } = build();
    rt.derive(pods, (ctx, pod) => ctx.fetchOne(services, byKey(`n/${pod.ip}`)) && pod.name, {
      name: "One",
    });
    rt.derive(
      pods,
      (ctx, { name }) => `${name}${ctx.fetch(services, byKeys(["n/1", "n/x"])).length}`,
      { name: "Several" },
    );
    const inspector = rt.inspect();
    const of = (key: string) => inspector.dependants(services, key);
    const input = "n/a";
    expect(of("n/1")).toEqual([
      { collection: "One", input },
      { collection: "Several", input },
    ]);
    expect(of("n/x")).toEqual([{ collection: "Several", input }]);
    expect(of("n/none")).toEqual([]);
    // An index group, or a selector, may come to match: no query asks for this very key.
    expect(of("n/s")).toEqual([{ collection: "Workloads", input }]);
    services.delete("n/s");
    expect(of("n/s")).toEqual([]);
    services.set({ ns: "n", name: "1", selector: { app: "other" } });
    expect(of("n/1").map(({ collection }) => collection)).toEqual(["One", "Several"]);
    expect(inspector.named("Services")).toBe(services);
    expect(inspector.named("None")).toBeUndefined();
  });

  it("draws the graph, with inputs solid and fetches dotted", () => {
    const { rt } = build();
    const late = rt.source<string>([], { synced: false, name: 'La"te' });
    rt.join([late, rt.source<string>([], { name: "Other" })], { name: "Both" });
    expect(rt.inspect().mermaid()).toBe(`flowchart LR
  n2[("Pods<br/>source 1")]:::synced
  n3[("Services<br/>source 1")]:::synced
  n4["Workloads<br/>derive 1"]:::synced
  n5[("La#quot;te<br/>source 0")]:::waiting
  n6[("Other<br/>source 0")]:::synced
  n7{{"Both<br/>join 0"}}:::waiting
  n2 --> n4
  n3 -.->|"index namespace+selects x1"| n4
  n5 --> n7
  n6 --> n7
  classDef synced stroke:#2a2
  classDef waiting stroke:#c60,stroke-dasharray:4
`);
    expect(rt.inspect().dot()).toBe(`digraph krt {
  rankdir=LR;
  node [shape=box];
  n2 [label="Pods\\nsource 1", shape=cylinder];
  n3 [label="Services\\nsource 1", shape=cylinder];
  n4 [label="Workloads\\nderive 1"];
  n5 [label="La\\"te\\nsource 0", shape=cylinder, style=dashed];
  n6 [label="Other\\nsource 0", shape=cylinder];
  n7 [label="Both\\njoin 0", style=dashed];
  n2 -> n4;
  n3 -> n4 [style=dotted, label="index namespace+selects x1"];
  n5 -> n7;
  n6 -> n7;
}
`);
  });

  it("says in words what every filter asks", () => {
    const rt = createRuntime();
    const pods = rt.source([], { kind: podKind, name: "Pods" });
    const services = rt.source([], { kind: serviceKind, name: "Services" });
    const byIp = rt.index(pods, (pod) => pod.ip, { name: "ip" });
    const isBig = (pod: { ip: string }) => pod.ip.length > 3;
    rt.deriveSingleton(
      (ctx) => {
        ctx.fetch(pods);
        ctx.fetch(pods, byKey("k"));
        ctx.fetch(pods, byKeys(["k", "l"]));
        ctx.fetch(pods, byName("n", "a"));
        ctx.fetch(pods, byIndex(byIp, "1"), byLabels({ app: "x", tier: "y" }));
        ctx.fetch(pods, where(isBig));
        ctx.fetch(pods, any(byKey("k")));
        ctx.fetch(services, selecting({ app: "x" }));
        return 1;
      },
      { name: "All" },
    );
    const words = rt
      .inspect()
      .edges()
      .map(({ filters }) => filters);
    expect(words).toEqual([
      [
        "all",
        "any of several",
        "ip 1 and labels app=x,tier=y",
        "key k",
        "keys k,l",
        "name n/a",
        "where isBig",
      ],
      ["selects app=x"],
    ]);
    expect(rt.inspect().mermaid()).toContain("all, index ip+labels, key, name, predicate x7");
  });
});

function bound(inspector: ReturnType<ReturnType<typeof createRuntime>["inspect"]>) {
  return {
    explain: inspector.explain.bind(inspector),
    explainOutput: inspector.explainOutput.bind(inspector),
  };
}
