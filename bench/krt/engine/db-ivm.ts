import { D2, join, MultiSet, map, output, reduce } from "@tanstack/db-ivm";
import { keyOf, type Pod, type Service, sameWorkload, type Workload } from "../data.ts";
import type { CreateEngine } from "./engine.ts";

/**
 * A left join by namespace and app, collected by pod. The library joins by equality only, so this engine
 * is given what the others are not told: that all selectors consist of `app`.
 */
export const createDbIvm: CreateEngine = (initialPods, initialServices) => {
  const graph = new D2();
  const podInput = graph.newInput<[string, Pod]>();
  const serviceInput = graph.newInput<[string, Service]>();
  const workloads = new Map<string, Workload>();
  let events = 0;

  podInput.pipe(
    join(serviceInput, "left"),
    map(([, [pod, service]]): [string, [Pod, string | undefined]] => {
      const known = pod as Pod;
      return [keyOf(known), [known, service?.name]];
    }),
    reduce((rows: [[Pod, string | undefined], number][]): [Workload, number][] => {
      const live = rows.filter(([, times]) => times > 0);
      const first = live[0]?.[0][0];
      if (first === undefined || first.ip === "") return [];
      const serviceNames = live
        .map(([[, service]]) => service)
        .filter((name) => name !== undefined);
      const { namespace, name, ip } = first;
      return [[{ namespace, name, ip, serviceNames }, 1]];
    }),
    output((changes) => {
      const gone = new Map<string, Workload>();
      for (const [[key, workload], times] of changes.getInner() as [[string, Workload], number][]) {
        if (times < 0) {
          gone.set(key, workload);
        } else {
          if (!sameWorkload(workloads.get(key), workload)) events++;
          workloads.set(key, workload);
          gone.delete(key);
        }
      }
      for (const [key, workload] of gone)
        if (workloads.get(key) === workload) workloads.delete(key);
    }),
  );
  graph.finalize();

  const pods = new Map<string, Pod>();
  const services = new Map<string, Service>();
  const podKey = (pod: Pod): string => `${pod.namespace}/${pod.labels["app"]}`;
  const serviceKey = (service: Service): string =>
    `${service.namespace}/${service.selector["app"]}`;
  const sendPod = (pod: Pod): void => {
    const key = keyOf(pod);
    const old = pods.get(key);
    pods.set(key, pod);
    const added: [[string, Pod], number] = [[podKey(pod), pod], 1];
    podInput.sendData(
      new MultiSet(old === undefined ? [added] : [[[podKey(old), old], -1], added]),
    );
  };
  const sendService = (service: Service): void => {
    const key = keyOf(service);
    const old = services.get(key);
    services.set(key, service);
    const added: [[string, Service], number] = [[serviceKey(service), service], 1];
    serviceInput.sendData(
      new MultiSet(old === undefined ? [added] : [[[serviceKey(old), old], -1], added]),
    );
  };

  for (const service of initialServices) sendService(service);
  for (const pod of initialPods) sendPod(pod);
  graph.run();
  return {
    putPod: (pod) => {
      sendPod(pod);
      graph.run();
    },
    putService: (service) => {
      sendService(service);
      graph.run();
    },
    settle: () => {},
    get events() {
      return events;
    },
    workloads: () => workloads.values(),
    dispose: () => {},
  };
};
