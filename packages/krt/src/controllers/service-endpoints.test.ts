import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byIndex,
  byLabels,
  type Collection,
  createRuntime,
  kind,
  type Labels,
  type Scope,
} from "../index.ts";
import { trackEvents } from "../testing/index.ts";

/*
 * The endpoints controller of Kubernetes as one derivation: for each service the addresses of the ready
 * pods of its namespace that it selects, cut into slices of a bounded size.
 */

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly ip: string;
  readonly ready: boolean;
  readonly terminating?: boolean;
}
interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Labels;
  readonly port: number;
  /** Publishes pods that are not ready too. */
  readonly publishNotReady?: boolean;
}
interface EndpointSlice {
  readonly namespace: string;
  readonly service: string;
  readonly number: number;
  readonly endpoints: readonly {
    readonly address: string;
    readonly pod: string;
    readonly ready: boolean;
  }[];
  readonly port: number;
}

const POD = kind<Pod>()({
  name: (pod) => pod.name,
  namespace: (pod) => pod.namespace,
  labels: (pod) => pod.labels,
});
const SERVICE = kind<Service>()({
  name: (service) => service.name,
  namespace: (service) => service.namespace,
  selector: (service) => service.selector,
});
const SLICE = kind<EndpointSlice>()({
  key: (slice) => `${slice.namespace}/${slice.service}/${slice.number}`,
});

const SLICE_SIZE = 3;

function sliceEndpoints(service: Service, pods: Iterable<Pod>): EndpointSlice[] {
  const { namespace, port } = service;
  const endpoints = Array.from(pods)
    .filter((pod) => pod.ip !== "" && (pod.ready || service.publishNotReady === true))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((pod) => ({
      address: pod.ip,
      pod: pod.name,
      ready: pod.ready && pod.terminating !== true,
    }));
  const slices: EndpointSlice[] = [];
  for (let at = 0; at < endpoints.length; at += SLICE_SIZE) {
    const number = slices.length;
    const part = endpoints.slice(at, at + SLICE_SIZE);
    slices.push({ namespace, service: service.name, number, endpoints: part, port });
  }
  return slices;
}

/** Services without a selector have endpoints that someone else writes. */
function endpointSlices(
  scope: Scope,
  services: Collection<Service>,
  pods: Collection<Pod, "namespace" | "labels">,
): Collection<EndpointSlice> {
  const byNamespace = scope.namespaceIndex(pods);
  return scope.deriveMany(
    services,
    (ctx, service) =>
      Object.keys(service.selector).length === 0
        ? []
        : sliceEndpoints(
            service,
            ctx.fetch(pods, byIndex(byNamespace, service.namespace), byLabels(service.selector)),
          ),
    { kind: SLICE, name: "EndpointSlices" },
  );
}

function setUp() {
  const errors: unknown[] = [];
  const rt = createRuntime({ strict: "full", onError: (error) => errors.push(error) });
  const pods = rt.source<Pod, "name" | "namespace" | "labels">([], { kind: POD });
  const services = rt.source<Service, "name" | "namespace" | "selector">([], { kind: SERVICE });
  return { rt, pods, services, slices: endpointSlices(rt, services, pods), errors };
}

const pod = (name: string, ip: string, app = "web", more: Partial<Pod> = {}): Pod => ({
  namespace: "shop",
  name,
  labels: { app },
  ip,
  ready: true,
  ...more,
});
const web: Service = { namespace: "shop", name: "web", selector: { app: "web" }, port: 80 };
const addresses = (slices: Iterable<EndpointSlice>) =>
  Array.from(slices, (slice) => slice.endpoints.map(({ address }) => address).join(" ")).sort();

describe("service endpoints", () => {
  it("follow pods through their life", async () => {
    const { rt, pods, services, slices, errors } = setUp();
    const tracker = trackEvents(slices);
    services.set(web);
    pods.set(pod("a", ""));
    expect(slices.size).toBe(0);
    pods.set(pod("a", "10.0.0.1", "web", { ready: false }));
    expect(slices.size).toBe(0);
    pods.set(pod("a", "10.0.0.1"));
    expect(addresses(slices)).toEqual(["10.0.0.1"]);
    pods.set(pod("a", "10.0.0.1", "web", { terminating: true }));
    expect(slices.get("shop/web/0")?.endpoints[0]?.ready).toBe(false);
    pods.delete("shop/a");
    await rt.settled();
    expect(tracker.take()).toEqual(["add/shop/web/0", "update/shop/web/0", "delete/shop/web/0"]);
    expect(errors).toEqual([]);
    rt.dispose();
  });

  it("leave out other namespaces and services without a selector", () => {
    const { rt, pods, services, slices } = setUp();
    services.set(web);
    services.set({ ...web, name: "external", selector: {} });
    pods.set(pod("a", "10.0.0.1"));
    pods.set(pod("b", "10.0.0.2", "web", { namespace: "other" }));
    expect([...slices.keys()]).toEqual(["shop/web/0"]);
    expect(addresses(slices)).toEqual(["10.0.0.1"]);
    rt.dispose();
  });

  it("are one event for a roll-out that is one batch", async () => {
    const { rt, pods, services, slices } = setUp();
    services.set(web);
    pods.set(pod("old", "10.0.0.1"));
    const tracker = trackEvents(slices, { replay: false });
    rt.batch(() => {
      pods.set(pod("new", "10.0.0.2"));
      pods.set(pod("newer", "10.0.0.3"));
      pods.delete("shop/old");
    });
    await rt.settled();
    expect(tracker.take()).toEqual(["update/shop/web/0"]);
    expect(addresses(slices)).toEqual(["10.0.0.2 10.0.0.3"]);
    rt.dispose();
  });

  it("run only the services that a pod concerns", () => {
    const { rt, pods, services, slices } = setUp();
    for (let i = 0; i < 100; i++) {
      services.set({ ...web, name: `s${i}`, selector: { app: `app-${i}` } });
    }
    const runs = () =>
      rt
        .inspect()
        .collections()
        .find(({ name }) => name === "EndpointSlices")?.counters.runs ?? 0;
    const before = runs();
    pods.set(pod("a", "10.0.0.1", "app-7"));
    expect(runs() - before).toBe(1);
    pods.set(pod("a", "10.0.0.1", "app-8"));
    expect(runs() - before).toBe(3);
    expect([...slices.keys()]).toEqual(["shop/s8/0"]);
    rt.dispose();
  });

  it("equal the result of a whole recomputation, after any writes", () => {
    const write = fc.record({
      pod: fc.integer({ min: 0, max: 12 }),
      namespace: fc.constantFrom("shop", "other"),
      app: fc.constantFrom("web", "db"),
      ip: fc.constantFrom("", "10.0.0.1", "10.0.0.2"),
      what: fc.constantFrom("set", "set", "delete", "service", "no service"),
      ready: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 40 }), (writes) => {
        const { rt, pods, services, slices, errors } = setUp();
        for (const { pod: number, namespace, app, ip, what, ready } of writes) {
          const name = `p${number}`;
          const service = { ...web, namespace, name: `s${number % 3}`, selector: { app } };
          if (what === "set") pods.set(pod(name, ip, app, { namespace, ready }));
          else if (what === "delete") pods.delete(`${namespace}/${name}`);
          else if (what === "service") services.set({ ...service, publishNotReady: ready });
          else services.delete(`${namespace}/${service.name}`);
          const expected = new Map<string, EndpointSlice>();
          for (const one of services) {
            const selected = pods
              .list()
              .filter(
                (p) => p.namespace === one.namespace && p.labels["app"] === one.selector["app"],
              );
            for (const slice of sliceEndpoints(one, selected))
              expected.set(SLICE.key(slice), slice);
          }
          expect(new Map(slices.list().map((one) => [SLICE.key(one), one]))).toEqual(expected);
        }
        expect(errors).toEqual([]);
        rt.dispose();
      }),
    );
  });
});
