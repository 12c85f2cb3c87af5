import type { Pod, Service, Workload } from "../data.ts";

/** One way to keep workloads up to date. Writes are given one at a time. */
export interface Engine {
  putPod(pod: Pod): void;
  putService(service: Service): void;
  /** Resolves when everything written is delivered. */
  settle(): void | Promise<void>;
  /** Changes of workloads that the handler has seen. */
  readonly events: number;
  workloads(): Iterable<Workload>;
  dispose(): void;
}

export type CreateEngine = (pods: readonly Pod[], services: readonly Service[]) => Engine;
