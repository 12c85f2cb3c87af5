import {
  byLabels,
  type Collection,
  createRuntime,
  type KrtError,
  kind,
  type Labels,
  type Runtime,
  type RuntimeOptions,
  type Scope,
} from "../../index.ts";

/** Objects of the scenarios. An absent part is left out, as in the text of the scenarios. */
export interface Pod {
  readonly ns: string;
  readonly name: string;
  readonly labels?: Labels;
  readonly ip: string;
}
export interface Service {
  readonly ns: string;
  readonly name: string;
  readonly selector: Labels;
}
interface Entry {
  readonly ns: string;
  readonly name: string;
  readonly selector?: Labels;
}
export interface ConfigMap {
  readonly ns?: string;
  readonly name: string;
  readonly labels?: Labels;
  readonly data?: Record<string, string>;
}
interface SizedPod {
  readonly ns: string;
  readonly name: string;
  readonly size: string;
}
export interface Endpoint {
  readonly namespace: string;
  readonly service: string;
  readonly pod: string;
  readonly ip: string;
}

export const podKind = kind<Pod>()({
  name: (pod) => pod.name,
  namespace: (pod) => pod.ns,
  labels: (pod) => pod.labels,
});
export const serviceKind = kind<Service>()({
  name: (service) => service.name,
  namespace: (service) => service.ns,
  selector: (service) => service.selector,
});
const entryKind = kind<Entry>()({
  name: (entry) => entry.name,
  namespace: (entry) => entry.ns,
  selector: (entry) => entry.selector,
});
export const configMapKind = kind<ConfigMap>()({
  name: (map) => map.name,
  namespace: (map) => map.ns,
  labels: (map) => map.labels,
});
const sizedPodKind = kind<SizedPod>()({
  name: (pod) => pod.name,
  namespace: (pod) => pod.ns,
});
export const endpointKind = kind<Endpoint>()({
  key: (endpoint) => `${endpoint.namespace}/${endpoint.service}/${endpoint.pod}`,
});

/** A runtime whose errors are collected instead of thrown. */
export interface Rig extends Disposable {
  readonly rt: Runtime;
  readonly errors: KrtError[];
}

export function createRig(options: RuntimeOptions = {}): Rig {
  const errors: KrtError[] = [];
  const rt = createRuntime({ onError: (error) => errors.push(error), ...options });
  return { rt, errors, [Symbol.dispose]: () => rt.dispose() };
}

export function podSource(scope: Scope, initial: readonly Pod[] = [], name = "Pods") {
  return scope.source(initial, { kind: podKind, name });
}

export function serviceSource(scope: Scope, initial: readonly Service[] = [], name = "Services") {
  return scope.source(initial, { kind: serviceKind, name });
}

export function entrySource(scope: Scope, initial: readonly Entry[] = []) {
  return scope.source(initial, { kind: entryKind, name: "Entries" });
}

export function configMapSource(scope: Scope, initial: readonly ConfigMap[] = []) {
  return scope.source(initial, { kind: configMapKind, name: "ConfigMaps" });
}

/** Pods with an address. */
export function simplePods(scope: Scope, pods: Collection<Pod>) {
  return scope.derive(pods, (_, pod): Pod | undefined => (pod.ip === "" ? undefined : { ...pod }), {
    kind: podKind,
    name: "SimplePods",
  });
}

export function simpleServices(scope: Scope, services: Collection<Service>) {
  return scope.derive(services, (_, service): Service => ({ ...service }), {
    kind: serviceKind,
    name: "SimpleServices",
  });
}

/** Entries with a selector, as services. */
export function entryServices(scope: Scope, entries: Collection<Entry>) {
  return scope.derive(
    entries,
    (_, { ns, name, selector }): Service | undefined => selector && { ns, name, selector },
    { kind: serviceKind, name: "EntryServices" },
  );
}

/** One endpoint for each pod that a service selects. */
export function endpoints(
  scope: Scope,
  pods: Collection<Pod, "labels">,
  services: Collection<Service>,
) {
  return scope.deriveMany(
    services,
    (ctx, service): Endpoint[] =>
      ctx.fetch(pods, byLabels(service.selector)).map((pod) => ({
        namespace: service.ns,
        service: service.name,
        pod: pod.name,
        ip: pod.ip,
      })),
    { kind: endpointKind, name: "Endpoints" },
  );
}

/** Pods with a label `size`. */
export function sizedPods(scope: Scope, pods: Collection<Pod>) {
  return scope.derive(
    pods,
    (_, { ns, name, labels }): SizedPod | undefined =>
      labels?.size === undefined ? undefined : { ns, name, size: labels.size },
    { kind: sizedPodKind, name: "SizedPods" },
  );
}

/** A pod with the given parts. */
export function pod(name: string, ip: string, labels?: Labels, ns = "namespace"): Pod {
  return labels === undefined ? { ns, name, ip } : { ns, name, ip, labels };
}

/** Number of completed runs of a derivation. */
export function keysOf(collection: Collection<unknown>): string[] {
  return [...collection.keys()].sort();
}
