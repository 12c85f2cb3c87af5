import {
  autorun,
  computed,
  configure,
  type IComputedValue,
  type IObservableValue,
  observable,
} from "mobx";
import { keyOf, type Pod, type Service, sameWorkload, selects, type Workload } from "../data.ts";
import type { CreateEngine } from "./engine.ts";

configure({ enforceActions: "never" });

/** A box for each pod and for the services of each namespace, a computed value and a reaction for each pod. */
export const createMobx: CreateEngine = (initialPods, initialServices) => {
  const pods = new Map<string, IObservableValue<Pod>>();
  const servicesBy = new Map<string, IObservableValue<readonly Service[]>>();
  const outputs = new Map<string, IComputedValue<Workload | undefined>>();
  const stops: (() => void)[] = [];
  let events = 0;

  const servicesOf = (namespace: string): IObservableValue<readonly Service[]> => {
    let found = servicesBy.get(namespace);
    if (found === undefined) {
      found = observable.box<readonly Service[]>([], { deep: false });
      servicesBy.set(namespace, found);
    }
    return found;
  };
  const putService = (service: Service): void => {
    const list = servicesOf(service.namespace);
    list.set([...list.get().filter((one) => one.name !== service.name), service]);
  };
  const putPod = (pod: Pod): void => {
    const key = keyOf(pod);
    const found = pods.get(key);
    if (found !== undefined) {
      found.set(pod);
      return;
    }
    const own = observable.box(pod, { deep: false });
    pods.set(key, own);
    const output = computed(
      (): Workload | undefined => {
        const { namespace, name, ip, labels } = own.get();
        if (ip === "") return undefined;
        const serviceNames: string[] = [];
        for (const service of servicesOf(namespace).get()) {
          if (selects(service.selector, labels)) serviceNames.push(service.name);
        }
        return { namespace, name, ip, serviceNames };
      },
      { equals: (a, b) => a === b || (b !== undefined && sameWorkload(a, b)) },
    );
    outputs.set(key, output);
    stops.push(
      autorun(() => {
        if (output.get() !== undefined) events++;
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
      Array.from(outputs.values(), (one) => one.get()).filter((one) => one !== undefined),
    dispose: () => stops.forEach((stop) => stop()),
  };
};
