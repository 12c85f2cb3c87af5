/** The data of the workload benchmarks: pods, the services that select them, and what is made of both. */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ip: string;
  readonly phase: string;
  readonly serviceAccount: string;
}

export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Readonly<Record<string, string>>;
}

export interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  readonly serviceNames: readonly string[];
}

/** Numbers of pods, services, namespaces and values of the label `app`. */
export interface Shape {
  readonly pods: number;
  readonly services: number;
  readonly namespaces: number;
  readonly apps: number;
}

/** The shape of the original's own benchmark, at any number of pods. */
export function usualShape(pods: number): Shape {
  return { pods, services: 50, namespaces: 2, apps: 25 };
}

export const keyOf = (object: { readonly namespace: string; readonly name: string }): string =>
  `${object.namespace}/${object.name}`;

export function createPods({ pods, namespaces, apps }: Shape): Pod[] {
  return Array.from({ length: pods }, (_, i) => ({
    namespace: `ns-${i % namespaces}`,
    name: `pod-${i}`,
    labels: { app: `app-${i % apps}` },
    ip: address(i),
    phase: "Running",
    serviceAccount: "fake-sa",
  }));
}

export function createServices({ services, namespaces, apps }: Shape): Service[] {
  return Array.from({ length: services }, (_, i) => ({
    namespace: `ns-${i % namespaces}`,
    name: `service-${i}`,
    selector: { app: `app-${i % apps}` },
  }));
}

/** The n-th address from 10.0.0.0 on. */
export function address(n: number): string {
  return `10.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`;
}

/** Whether a selector that is not empty selects the labels. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  let any = false;
  for (const name in selector) {
    if (labels[name] !== selector[name]) return false;
    any = true;
  }
  return any;
}

export function sameWorkload(a: Workload | undefined, b: Workload): boolean {
  if (a === undefined || a.ip !== b.ip || a.serviceNames.length !== b.serviceNames.length) {
    return false;
  }
  for (let i = 0; i < a.serviceNames.length; i++) {
    if (a.serviceNames[i] !== b.serviceNames[i]) return false;
  }
  return true;
}

/** One number for a set of workloads, whatever their order: engines must agree on it. */
export function checksum(workloads: Iterable<Workload>): number {
  let sum = 0;
  for (const { namespace, name, ip, serviceNames } of workloads) {
    const text = `${namespace}/${name}/${ip}/${serviceNames.toSorted().join()}`;
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    sum = (sum + (hash >>> 0)) % 2 ** 48;
  }
  return sum;
}

/** A generator of repeatable random numbers (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
