export type { KubernetesConnection, WatchClientOptions } from "./client.ts";
export { createWatchClient } from "./client.ts";
export type { InformerFilter, InformerOptions } from "./informer.ts";
export { kubernetesKind, newInformer, newInformerFiltered, wrapClient } from "./informer.ts";
export { KubernetesStatusError } from "./status.ts";
export type {
  KubernetesList,
  KubernetesObject,
  KubernetesResource,
  ListQuery,
  ResourceWatchEvent,
  WatchClient,
  WatchQuery,
} from "./types.ts";
