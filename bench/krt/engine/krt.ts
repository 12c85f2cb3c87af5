import {
  byIndex,
  type Collection,
  createRuntime,
  kind,
  type Runtime,
  selectingNonEmpty,
} from "@stackwright/krt";
import type { Pod, Service, Workload } from "../data.ts";
import type { CreateEngine, Engine } from "./engine.ts";

export const POD = kind<Pod>()({
  name: (pod) => pod.name,
  namespace: (pod) => pod.namespace,
  labels: (pod) => pod.labels,
});
export const SERVICE = kind<Service>()({
  name: (service) => service.name,
  namespace: (service) => service.namespace,
  selector: (service) => service.selector,
});
const WORKLOAD = kind<Workload>()({
  name: (workload) => workload.name,
  namespace: (workload) => workload.namespace,
});

type PodCollection = Collection<Pod, "name" | "namespace" | "labels">;
type ServiceCollection = Collection<Service, "name" | "namespace" | "selector">;

/** The derivation, and what an engine tells of it. */
export function deriveWorkloads(
  rt: Runtime,
  pods: PodCollection,
  services: ServiceCollection,
): Pick<Engine, "settle" | "events" | "workloads" | "dispose"> {
  const byNamespace = rt.namespaceIndex(services);
  const workloads = rt.derive(
    pods,
    (ctx, pod): Workload | undefined => {
      if (pod.ip === "") return undefined;
      const selected = ctx.fetch(
        services,
        byIndex(byNamespace, pod.namespace),
        selectingNonEmpty(pod.labels),
      );
      const serviceNames = selected.map((service) => service.name);
      return { namespace: pod.namespace, name: pod.name, ip: pod.ip, serviceNames };
    },
    { kind: WORKLOAD },
  );
  let events = 0;
  workloads.subscribe(() => void events++);
  return {
    settle: () => rt.settled(),
    get events() {
      return events;
    },
    workloads: () => workloads,
    dispose: () => rt.dispose(),
  };
}

export const createKrt: CreateEngine = (initialPods, initialServices) => {
  const rt = createRuntime();
  const pods = rt.source(initialPods, { kind: POD });
  const services = rt.source(initialServices, { kind: SERVICE });
  const inner = deriveWorkloads(rt, pods, services);
  return {
    ...inner,
    get events() {
      return inner.events;
    },
    putPod: (pod) => pods.set(pod),
    putService: (service) => services.set(service),
  };
};
