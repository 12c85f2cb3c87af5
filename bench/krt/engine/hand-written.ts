import { keyOf, type Pod, type Service, sameWorkload, selects, type Workload } from "../data.ts";
import type { CreateEngine } from "./engine.ts";

/**
 * The controller that one would write by hand for just this task: maps, one index by namespace for each
 * type, and for a changed service a look at the pods of its namespace.
 */
export const createHandWritten: CreateEngine = (pods, services) => {
  const podsBy = new Map<string, Map<string, Pod>>();
  const servicesBy = new Map<string, Map<string, Service>>();
  const workloads = new Map<string, Workload>();
  let events = 0;

  const reconcile = (key: string, pod: Pod): void => {
    if (pod.ip === "") {
      if (workloads.delete(key)) events++;
      return;
    }
    const serviceNames: string[] = [];
    for (const service of servicesBy.get(pod.namespace)?.values() ?? []) {
      if (selects(service.selector, pod.labels)) serviceNames.push(service.name);
    }
    const next = { namespace: pod.namespace, name: pod.name, ip: pod.ip, serviceNames };
    if (sameWorkload(workloads.get(key), next)) return;
    workloads.set(key, next);
    events++;
  };
  const group = <T>(groups: Map<string, Map<string, T>>, name: string): Map<string, T> => {
    let found = groups.get(name);
    if (found === undefined) groups.set(name, (found = new Map()));
    return found;
  };
  const putPod = (pod: Pod): void => {
    const key = keyOf(pod);
    group(podsBy, pod.namespace).set(key, pod);
    reconcile(key, pod);
  };
  const putService = (service: Service): void => {
    const key = keyOf(service);
    const peers = group(servicesBy, service.namespace);
    const old = peers.get(key);
    peers.set(key, service);
    for (const [podKey, pod] of podsBy.get(service.namespace) ?? []) {
      const touched =
        selects(service.selector, pod.labels) ||
        (old !== undefined && selects(old.selector, pod.labels));
      if (touched) reconcile(podKey, pod);
    }
  };

  for (const service of services) putService(service);
  for (const pod of pods) putPod(pod);
  return {
    putPod,
    putService,
    settle: () => {},
    get events() {
      return events;
    },
    workloads: () => workloads.values(),
    dispose: () => {},
  };
};
