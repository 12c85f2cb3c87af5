import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byIndex,
  byKey,
  type Collection,
  createRuntime,
  kind,
  type Labels,
  type Scope,
  selectingNonEmpty,
} from "../index.ts";
import { trackEvents } from "../testing/index.ts";

/*
 * The workloads of a service mesh: for each pod with an address, which services it stands behind and
 * what its namespace says of it; services come from two places, of which the cluster's own win; and
 * for each namespace a summary.
 */

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly ip: string;
}
interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Labels;
  readonly origin: "cluster" | "entry";
}
interface Namespace {
  readonly name: string;
  readonly labels: Labels;
}
interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  readonly services: readonly string[];
  readonly mesh: boolean;
}
interface Summary {
  readonly key: string;
  readonly workloads: number;
  readonly alone: number;
}

const POD = kind<Pod>()({ name: (pod) => pod.name, namespace: (pod) => pod.namespace });
const SERVICE = kind<Service>()({
  name: (service) => service.name,
  namespace: (service) => service.namespace,
  selector: (service) => service.selector,
});
const NAMESPACE = kind<Namespace>()({ name: (one) => one.name, labels: (one) => one.labels });
const WORKLOAD = kind<Workload>()({ name: (one) => one.name, namespace: (one) => one.namespace });

/** Whether a pod is in the mesh: what its own label says, else what that of its namespace says. */
function inMesh(pod: Pod, namespace: Namespace | undefined): boolean {
  return (pod.labels["mesh"] ?? namespace?.labels["mesh"]) === "on";
}

function workloads(
  scope: Scope,
  pods: Collection<Pod>,
  services: Collection<Service, "namespace" | "selector">,
  namespaces: Collection<Namespace>,
): Collection<Workload, "namespace" | "name"> {
  const byNamespace = scope.namespaceIndex(services);
  return scope.derive(
    pods,
    (ctx, pod): Workload | undefined => {
      if (pod.ip === "") return undefined;
      const selected = ctx.fetch(
        services,
        byIndex(byNamespace, pod.namespace),
        selectingNonEmpty(pod.labels),
      );
      return {
        namespace: pod.namespace,
        name: pod.name,
        ip: pod.ip,
        services: selected.map((service) => `${service.name}@${service.origin}`).sort(),
        mesh: inMesh(pod, ctx.fetchOne(namespaces, byKey(pod.namespace))),
      };
    },
    { kind: WORKLOAD, name: "Workloads" },
  );
}

function summaries(scope: Scope, of: Collection<Workload, "namespace">): Collection<Summary> {
  return scope.derive(scope.namespaceIndex(of).asCollection(), (_, group) => ({
    key: group.key,
    workloads: group.objects.length,
    alone: group.objects.filter((one) => one.services.length === 0).length,
  }));
}

function setUp() {
  const errors: unknown[] = [];
  const rt = createRuntime({ strict: "full", onError: (error) => errors.push(error) });
  const pods = rt.source<Pod, "name" | "namespace">([], { kind: POD });
  const own = rt.source<Service, "name" | "namespace" | "selector">([], { kind: SERVICE });
  const entries = rt.source<Service, "name" | "namespace" | "selector">([], { kind: SERVICE });
  const namespaces = rt.source<Namespace, "name" | "labels">([], { kind: NAMESPACE });
  const services = rt.join([own, entries]);
  const all = workloads(rt, pods, services, namespaces);
  return { rt, pods, own, entries, namespaces, services, all, summary: summaries(rt, all), errors };
}

const pod = (
  name: string,
  ip: string,
  labels: Labels = { app: "web" },
  namespace = "shop",
): Pod => ({
  namespace,
  name,
  labels,
  ip,
});
const service = (
  name: string,
  app: string,
  origin: Service["origin"] = "cluster",
  namespace = "shop",
): Service => ({ namespace, name, selector: app === "" ? {} : { app }, origin });

describe("workloads of pods, services and namespaces", () => {
  it("are made of all three, and follow each", async () => {
    const { rt, pods, own, namespaces, all, errors } = setUp();
    const tracker = trackEvents(all);
    pods.set(pod("a", ""));
    pods.set(pod("a", "10.0.0.1"));
    own.set(service("web", "web"));
    namespaces.set({ name: "shop", labels: { mesh: "on" } });
    expect(all.get("shop/a")).toEqual({
      namespace: "shop",
      name: "a",
      ip: "10.0.0.1",
      services: ["web@cluster"],
      mesh: true,
    });
    pods.set(pod("a", "10.0.0.1", { app: "web", mesh: "off" }));
    expect(all.get("shop/a")?.mesh).toBe(false);
    namespaces.set({ name: "shop", labels: { mesh: "on", team: "x" } });
    own.set(service("db", "db"));
    await rt.settled();
    expect(tracker.take()).toEqual([
      "add/shop/a",
      ...Array.from({ length: 3 }, () => "update/shop/a"),
    ]);
    expect(errors).toEqual([]);
    rt.dispose();
  });

  it("prefer the cluster's service to an entry of the same name", () => {
    const { rt, pods, own, entries, all } = setUp();
    pods.set(pod("a", "10.0.0.1"));
    entries.set(service("web", "web", "entry"));
    expect(all.get("shop/a")?.services).toEqual(["web@entry"]);
    own.set(service("web", "db"));
    expect(all.get("shop/a")?.services).toEqual([]);
    own.delete("shop/web");
    expect(all.get("shop/a")?.services).toEqual(["web@entry"]);
    rt.dispose();
  });

  it("are not touched by services of other namespaces or other apps", () => {
    const { rt, pods, own, all } = setUp();
    rt.batch(() => {
      for (let i = 0; i < 100; i++) {
        pods.set(pod(`p${i}`, `10.0.0.${i}`, { app: `app-${i % 10}` }, `ns-${i % 2}`));
      }
    });
    expect(all.size).toBe(100);
    const runs = () =>
      rt
        .inspect()
        .collections()
        .find(({ name }) => name === "Workloads")?.counters.runs ?? 0;
    const before = runs();
    own.set(service("s", "app-4", "cluster", "ns-0"));
    expect(runs() - before).toBe(10);
    own.set(service("s", "app-4", "cluster", "ns-1"));
    own.set(service("t", "", "cluster", "ns-0"));
    expect(runs() - before).toBe(10);
    rt.dispose();
  });

  it("have one summary for each namespace, which belongs to the same turn", async () => {
    const { rt, pods, own, all, summary } = setUp();
    const seen: string[] = [];
    summary.subscribe((event) => {
      const now = all.list().filter((one) => one.namespace === event.key);
      seen.push(`${event.new?.workloads ?? 0} of ${now.length}, ${event.new?.alone ?? 0} alone`);
    });
    rt.batch(() => {
      for (let i = 0; i < 5; i++)
        pods.set(pod(`p${i}`, `10.0.0.${i}`, { app: i < 2 ? "web" : "db" }));
    });
    await rt.settled();
    own.set(service("web", "web"));
    await rt.settled();
    rt.batch(() => {
      for (let i = 0; i < 5; i++) pods.delete(`shop/p${i}`);
    });
    await rt.settled();
    expect(seen).toEqual(["5 of 5, 5 alone", "5 of 5, 3 alone", "0 of 0, 0 alone"]);
    rt.dispose();
  });

  it("equal the result of a whole recomputation, after any writes", () => {
    const app = fc.constantFrom("web", "db", "");
    const namespace = fc.constantFrom("shop", "other");
    const write = fc.record({
      what: fc.constantFrom("pod", "pod", "own", "entry", "namespace", "delete"),
      name: fc.constantFrom("a", "b", "c"),
      ip: fc.constantFrom("", "1", "2"),
      mesh: fc.constantFrom("on", "off"),
      app,
      namespace,
    });
    fc.assert(
      fc.property(fc.array(fc.array(write, { maxLength: 5 }), { maxLength: 12 }), (batches) => {
        const { rt, pods, own, entries, namespaces, all, errors } = setUp();
        for (const batch of batches) {
          rt.batch(() => {
            for (const one of batch) {
              const key = `${one.namespace}/${one.name}`;
              if (one.what === "pod")
                pods.set(pod(one.name, one.ip, { app: one.app }, one.namespace));
              else if (one.what === "own")
                own.set(service(one.name, one.app, "cluster", one.namespace));
              else if (one.what === "entry")
                entries.set(service(one.name, one.app, "entry", one.namespace));
              else if (one.what === "namespace")
                namespaces.set({ name: one.namespace, labels: { mesh: one.mesh } });
              else for (const source of [pods, own, entries]) source.delete(key);
            }
          });
          const merged = new Map([...entries, ...own].map((one) => [SERVICE.key(one), one]));
          const expected = pods
            .list()
            .filter((one) => one.ip !== "")
            .map(
              (one): Workload => ({
                namespace: one.namespace,
                name: one.name,
                ip: one.ip,
                services: [...merged.values()]
                  .filter(
                    (s) => s.namespace === one.namespace && s.selector["app"] === one.labels["app"],
                  )
                  .map((s) => `${s.name}@${s.origin}`)
                  .sort(),
                mesh: inMesh(one, namespaces.get(one.namespace)),
              }),
            );
          const byKeyOf = (list: readonly Workload[]) =>
            new Map(list.map((one) => [WORKLOAD.key(one), one]));
          expect(byKeyOf(all.list())).toEqual(byKeyOf(expected));
        }
        expect(errors).toEqual([]);
        rt.dispose();
      }),
    );
  });
});
