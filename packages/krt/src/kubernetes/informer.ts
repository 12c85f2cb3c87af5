import { type Kind, type KindCapability, kind } from "../kind.ts";
import type { Scope } from "../scope.ts";
import {
  fromWatch,
  type SourceWatchEvent,
  type SourceWatchOptions,
  type WatchedCollection,
} from "../source/watch.ts";
import { createWatchClient, type KubernetesConnection } from "./client.ts";
import { isGone, KubernetesStatusError } from "./status.ts";
import type { KubernetesObject, KubernetesResource, WatchClient } from "./types.ts";

/** Which objects a collection follows, decided by the server, and what is kept of them. */
export interface InformerFilter<T> {
  /** Only this namespace. @default all */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Decided here, for each version: an object that no longer passes leaves the collection. */
  readonly objectFilter?: (object: T) => boolean;
  /** What is kept of an object, for example without its managed fields. Must keep name and namespace. */
  readonly objectTransform?: (object: T) => T;
}

/** Options of collections that follow an API server. */
export interface InformerOptions<T, Tr extends KindCapability> extends SourceWatchOptions<T, Tr> {
  /**
   * Objects per page of a list.
   * @default 500
   */
  readonly pageSize?: number;
  /**
   * Seconds after which a watch is begun anew, so that connections move between servers.
   * @default 300
   */
  readonly watchSeconds?: number;
}

type ObjectTrait = "name" | "namespace" | "labels";

/**
 * The kind of Kubernetes objects: keyed by namespace and name, with labels. Versions of an object are
 * distinguished by their resource version where both have one, which the API server changes with every
 * write.
 */
export function kubernetesKind<T extends KubernetesObject>(): Kind<T, ObjectTrait> {
  return kind<T>()({
    name: (object: T) => object.metadata?.name ?? "",
    namespace: (object: T) => object.metadata?.namespace,
    labels: (object: T) => object.metadata?.labels,
    equals: "version",
    version: (object: T) => object.metadata?.resourceVersion,
  }) as Kind<T, ObjectTrait>;
}

/** A collection of all objects of a resource. Seed: `NewInformer`. See {@link wrapClient}. */
export function newInformer<T extends KubernetesObject>(
  scope: Scope,
  connection: KubernetesConnection,
  resource: KubernetesResource,
  options: InformerOptions<T, ObjectTrait> = {},
): WatchedCollection<T, ObjectTrait> {
  return newInformerFiltered(scope, connection, resource, {}, options);
}

/** A collection of the objects of a resource that pass a filter. Seed: `NewInformerFiltered`. */
export function newInformerFiltered<T extends KubernetesObject>(
  scope: Scope,
  connection: KubernetesConnection,
  resource: KubernetesResource,
  filter: InformerFilter<T>,
  options: InformerOptions<T, ObjectTrait> = {},
): WatchedCollection<T, ObjectTrait> {
  return wrapClient(scope, createWatchClient<T>(connection, resource), {
    name: resource.resource,
    ...options,
    filter,
  });
}

/**
 * A collection of what a client lists and watches. Seed: `WrapClient`.
 *
 * It is synced when the first list, of all pages, is in. A watch that ends is begun again where it was,
 * after failures with growing pauses; bookmarks keep that place recent. When the server no longer has
 * the place (410) everything is listed anew and compared: objects that vanished meanwhile are deleted,
 * unchanged ones stay as they are. Failures are reported as `KRT_SOURCE`.
 */
export function wrapClient<T extends KubernetesObject>(
  scope: Scope,
  client: WatchClient<T>,
  options: InformerOptions<T, ObjectTrait> & { readonly filter?: InformerFilter<T> } = {},
): WatchedCollection<T, ObjectTrait> {
  const { filter = {}, pageSize = 500, watchSeconds = 300, ...rest } = options;
  const { objectFilter, objectTransform, ...query } = filter;
  const admit = (object: T): T | undefined => {
    if (objectFilter !== undefined && !objectFilter(object)) return undefined;
    return objectTransform === undefined ? object : objectTransform(object);
  };
  return fromWatch<T, string, ObjectTrait>(
    scope,
    {
      list: async ({ signal }) => {
        const objects: T[] = [];
        let page = await client.list({ ...query, limit: pageSize }, signal);
        for (;;) {
          for (const item of page.items) {
            const object = admit(item);
            if (object !== undefined) objects.push(object);
          }
          const next = page.metadata?.continue;
          if (next === undefined || next === "") break;
          page = await client.list({ ...query, limit: pageSize, continue: next }, signal);
        }
        const revision = page.metadata?.resourceVersion;
        return revision === undefined ? { objects } : { objects, revision };
      },
      watch: async function* ({ signal, from }): AsyncIterable<SourceWatchEvent<T>> {
        const events = client.watch(
          { ...query, resourceVersion: from ?? "0", timeoutSeconds: watchSeconds },
          signal,
        );
        for await (const { type, object } of events) {
          if (type === "ERROR") throw KubernetesStatusError.fromStatus(object, 500);
          const revision = object.metadata?.resourceVersion;
          if (type === "BOOKMARK") {
            if (revision !== undefined) yield { type: "bookmark", revision };
            continue;
          }
          const admitted = type === "DELETED" ? undefined : admit(object);
          const change: SourceWatchEvent<T> =
            admitted === undefined ? { type: "delete", object } : { type: "set", object: admitted };
          yield revision === undefined ? change : { ...change, revision };
        }
      },
      isExpired: isGone,
    },
    { kind: kubernetesKind<T>(), ...rest },
  );
}
