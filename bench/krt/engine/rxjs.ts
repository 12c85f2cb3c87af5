import { BehaviorSubject, combineLatest, distinctUntilChanged, map, type Subscription } from "rxjs";
import { keyOf, type Pod, type Service, sameWorkload, selects, type Workload } from "../data.ts";
import type { CreateEngine } from "./engine.ts";

/** A subject for each pod and for the services of each namespace, combined for each pod. */
export const createRxjs: CreateEngine = (initialPods, initialServices) => {
  const pods = new Map<string, BehaviorSubject<Pod>>();
  const servicesBy = new Map<string, BehaviorSubject<readonly Service[]>>();
  const workloads = new Map<string, Workload>();
  const subscriptions: Subscription[] = [];
  let events = 0;

  const servicesOf = (namespace: string): BehaviorSubject<readonly Service[]> => {
    let found = servicesBy.get(namespace);
    if (found === undefined)
      servicesBy.set(namespace, (found = new BehaviorSubject<readonly Service[]>([])));
    return found;
  };
  const putService = (service: Service): void => {
    const list = servicesOf(service.namespace);
    list.next([...list.value.filter((one) => one.name !== service.name), service]);
  };
  const putPod = (pod: Pod): void => {
    const key = keyOf(pod);
    const found = pods.get(key);
    if (found !== undefined) {
      found.next(pod);
      return;
    }
    const own = new BehaviorSubject(pod);
    pods.set(key, own);
    subscriptions.push(
      combineLatest([own, servicesOf(pod.namespace)])
        .pipe(
          map(([{ namespace, name, ip, labels }, services]): Workload | undefined => {
            if (ip === "") return undefined;
            const serviceNames: string[] = [];
            for (const service of services) {
              if (selects(service.selector, labels)) serviceNames.push(service.name);
            }
            return { namespace, name, ip, serviceNames };
          }),
          distinctUntilChanged((a, b) => a === b || (b !== undefined && sameWorkload(a, b))),
        )
        .subscribe((workload) => {
          if (workload === undefined) workloads.delete(key);
          else workloads.set(key, workload);
          events++;
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
    workloads: () => workloads.values(),
    dispose: () => subscriptions.forEach((one) => one.unsubscribe()),
  };
};
