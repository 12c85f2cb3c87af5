/** The least that objects of a Kubernetes API have. Fits the models of `@kubernetes/client-node`. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly resourceVersion?: string;
  };
}

/** One page of objects. */
export interface KubernetesList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Where objects of a type are found. */
export interface KubernetesResource {
  /** `v1`, or group and version as in `apps/v1`. */
  readonly apiVersion: string;
  /** The plural as in paths: `pods`. */
  readonly resource: string;
}

/** What a list asks for. */
export interface ListQuery {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
}

/** What a watch asks for: changes after a version. */
export interface WatchQuery {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  /** After which the server ends the watch. */
  readonly timeoutSeconds: number;
}

/** One line of a watch. Of a bookmark only the version counts; the object of an error is a status. */
export interface ResourceWatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/**
 * Lists and watches one resource. An expired version (HTTP status 410, as answer or in an event) must
 * be reported as an error with `code` or `statusCode` 410, or left in the event.
 */
export interface WatchClient<T extends KubernetesObject> {
  list(query: ListQuery, signal: AbortSignal): Promise<KubernetesList<T>>;
  watch(query: WatchQuery, signal: AbortSignal): AsyncIterable<ResourceWatchEvent<T>>;
}
