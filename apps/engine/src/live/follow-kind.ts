import type { Logger } from "@stackwright/base/logger";
import { fromWatch, type Kind, type Scope, type WatchedCollection } from "@stackwright/krt";
import {
  isStorageError,
  type Resource,
  type ResourceId,
  type ResourceType,
  type StorageBackend,
  type Tenancy,
  type WatchEvent,
  WILDCARD,
} from "@stackwright/storage";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** A kind of the store as a collection. */
export interface FollowedKind<T> {
  readonly name: string;
  readonly type: ResourceType;
  readonly kind: Kind<T>;
  /** Where its resources are, and what their names begin with. @default anywhere, whatever their names are */
  readonly where?: { readonly tenancy: Tenancy; readonly prefix: string };
  /** The key of what a resource becomes. */
  readonly keyOf: (id: ResourceId) => string;
  /** What the server needs of a resource to derive from it: no values, no secrets. Undefined: nothing, it is left out. */
  readonly project: (resource: Resource) => T | undefined;
}

/**
 * A collection of the resources of a kind, in all projects unless it is elsewhere. It begins with the snapshot of a watch, continues from the cursor of
 * the last event, and takes a new snapshot where the store has forgotten what came after it. Of a snapshot only the projections are
 * kept. A resource that is damaged, or cannot be decoded, is logged and left out. `onListed` receives the number of objects of a
 * snapshot so far.
 */
export function followKind<T>(
  scope: Scope,
  { storage, logger }: { readonly storage: StorageBackend; readonly logger: Logger },
  { name, type, kind, where, keyOf, project }: FollowedKind<T>,
  onListed?: (objects: number) => void,
): WatchedCollection<T> {
  const { tenancy, prefix } = where ?? { tenancy: ANYWHERE, prefix: "" };
  const projected = (resource: Resource): T | undefined => {
    try {
      return project(resource);
    } catch (error) {
      const { id } = resource;
      logger.warn({ kind: type.kind, name: id.name, err: error }, "a record cannot be read");
      return undefined;
    }
  };
  const changeOf = ({ operation, resource }: Extract<WatchEvent, { resource: Resource }>) => {
    const object = operation === "upsert" ? projected(resource) : undefined;
    return object === undefined
      ? ({ type: "delete", key: keyOf(resource.id) } as const)
      : ({ type: "set", object } as const);
  };
  return fromWatch<T>(
    scope,
    {
      async list({ signal }) {
        using watch = await storage.watchList(type, tenancy, prefix, {
          signal,
          endOfSnapshot: true,
          onDamaged: ({ id, reason }) =>
            logger.warn({ kind: type.kind, name: id.name, reason }, "a record is damaged"),
        });
        const objects: T[] = [];
        for (;;) {
          const event = await watch.next({ signal });
          if (event.operation === "endOfSnapshot") {
            return { objects, ...(event.cursor !== undefined && { revision: event.cursor }) };
          }
          const object = event.operation === "upsert" ? projected(event.resource) : undefined;
          if (object !== undefined) objects.push(object);
          onListed?.(objects.length);
        }
      },
      async *watch({ signal, from }) {
        const resume = from === undefined ? {} : { resumeAfter: from, bookmarks: true };
        using watch = await storage.watchList(type, tenancy, prefix, { signal, ...resume });
        for (;;) {
          const event = await watch.next({ signal });
          if (event.operation === "endOfSnapshot") continue;
          const { cursor } = event;
          if (event.operation === "bookmark") {
            yield { type: "bookmark", revision: event.cursor };
            continue;
          }
          yield { ...changeOf(event), ...(cursor !== undefined && { revision: cursor }) };
        }
      },
      isExpired: (error) => isStorageError(error, "STORAGE_WATCH_CLOSED"),
    },
    { name, kind },
  );
}
