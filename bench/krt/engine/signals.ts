import { computed, effect, type Signal, signal } from "@preact/signals-core";
import { keyOf, type Pod, type Service, sameWorkload, selects, type Workload } from "../data.ts";
import type { CreateEngine } from "./engine.ts";

/** A signal for each pod and for the services of each namespace: the finest that signals can express. */
export const createSignals: CreateEngine = (initialPods, initialServices) => {
  const pods = new Map<string, Signal<Pod>>();
  const servicesBy = new Map<string, Signal<readonly Service[]>>();
  const outputs = new Map<string, { readonly value: Workload | undefined }>();
  const stops: (() => void)[] = [];
  let events = 0;

  const servicesOf = (namespace: string): Signal<readonly Service[]> => {
    let found = servicesBy.get(namespace);
    if (found === undefined) servicesBy.set(namespace, (found = signal<readonly Service[]>([])));
    return found;
  };
  const putService = (service: Service): void => {
    const list = servicesOf(service.namespace);
    const others = list.peek().filter((one) => one.name !== service.name);
    list.value = [...others, service];
  };
  const putPod = (pod: Pod): void => {
    const key = keyOf(pod);
    const found = pods.get(key);
    if (found !== undefined) {
      found.value = pod;
      return;
    }
    const own = signal(pod);
    pods.set(key, own);
    let last: Workload | undefined;
    const output = computed((): Workload | undefined => {
      const { namespace, name, ip, labels } = own.value;
      if (ip === "") return undefined;
      const serviceNames: string[] = [];
      for (const service of servicesOf(namespace).value) {
        if (selects(service.selector, labels)) serviceNames.push(service.name);
      }
      const next = { namespace, name, ip, serviceNames };
      if (!sameWorkload(last, next)) last = next;
      return last;
    });
    outputs.set(key, output);
    stops.push(
      effect(() => {
        if (output.value !== undefined) events++;
      }),
    );
  };

  for (const service of initialServices) putService(service);
  for (const pod of initialPods) putPod(pod);
  return {
    putPod,
    putService,
    settle: () => {},
    get events() {
      return events;
    },
    workloads: () =>
      Array.from(outputs.values(), (one) => one.value).filter((one) => one !== undefined),
    dispose: () => stops.forEach((stop) => stop()),
  };
};
