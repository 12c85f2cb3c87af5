import type { Clock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import type { Resource } from "../resource.ts";
import type { CallOptions, StorageBackend, WatchOptions } from "../types.ts";
import { deleteResource } from "./delete-resource.ts";
import type {
  ListFilterInput,
  PartialResourceId,
  ReadOptions,
  ResourceInput,
  StatusInput,
} from "./inputs.ts";
import { checkReadId, listOwned, listResources, readResource } from "./read-resource.ts";
import { createServiceParts } from "./service-parts.ts";
import { type ServiceWatch, watchResources } from "./service-watch.ts";
import type { TypeRegistration } from "./type-registry.ts";
import { updateResource, validateResource, writeResource } from "./write-resource.ts";
import { writeStatus } from "./write-status.ts";

/** Options of {@link createResourceService}. */
export interface ResourceServiceOptions {
  readonly storage: StorageBackend;
  /** The types that the service takes. */
  readonly types: readonly TypeRegistration[];
  /** How writes without a version are repeated. */
  readonly retry?: Partial<RetryPolicy>;
  /** @default the process's */
  readonly clock?: Clock;
  /** A number in [0, 1), for the jitter of retries. @default Math.random */
  readonly random?: () => number;
  /** Makes uids and generations. @default strictly rising ULIDs by the clock's wall clock */
  readonly ulid?: () => string;
}

/**
 * The layer above a storage backend: it fills in uids, generations and tenancies, runs the hooks of
 * the registered types, keeps statuses apart from contents, and deletes what a deleted resource
 * owned.
 *
 * Every method rejects with a `StorageError`: the backend's, or `STORAGE_INVALID_ARGUMENT` for what
 * the type or the rules of this layer do not allow.
 *
 * Source: the resource service above Consul's storage backend.
 */
export interface ResourceService {
  /**
   * Reads a resource in the group version of `id.type`, converted if it is stored in another one;
   * `STORAGE_GROUP_VERSION_MISMATCH` when there is no converter.
   */
  read(id: PartialResourceId, options?: ReadOptions): Promise<Resource>;

  /**
   * Creates or replaces a resource. A new one gets a uid; every write gives a generation. With a
   * version the write is tried once (`STORAGE_CAS_FAILURE`); without, a few times.
   */
  write(resource: ResourceInput, options?: CallOptions): Promise<Resource>;

  /**
   * Reads, lets `change` make the next content, and writes it under the version that was read; again
   * from the start when another writer was faster. `change` may give `undefined` to leave it.
   */
  update(
    id: PartialResourceId,
    change: (stored: Resource) => ResourceInput | undefined,
    options?: CallOptions,
  ): Promise<Resource>;

  /** Replaces the status of one controller; the generation stays. */
  writeStatus(status: StatusInput, options?: CallOptions): Promise<Resource>;

  /**
   * Deletes a resource, and later what it owned. With finalizers it is only marked; deleting it
   * again once they are gone deletes it. What does not exist is deleted already.
   */
  delete(
    id: PartialResourceId & { readonly version?: string },
    options?: CallOptions,
  ): Promise<void>;

  /** Runs the hooks of the type and gives what would be written. */
  validate(resource: ResourceInput): Resource;

  /** Lists resources in one group version; those that cannot be converted are left out. */
  list(filter: ListFilterInput, options?: ReadOptions): Promise<readonly Resource[]>;

  /** The resources that an owner owns, as they are stored. The owner's uid is required. */
  listByOwner(owner: PartialResourceId, options?: CallOptions): Promise<readonly Resource[]>;

  /** Watches what `list` gives. */
  watch(filter: ListFilterInput, options?: WatchOptions): Promise<ServiceWatch>;
}

/** The resource service over a store. It holds nothing that would have to be closed. */
export function createResourceService(options: ResourceServiceOptions): ResourceService {
  const parts = createServiceParts(options);
  return {
    read: async (id, call = {}) => readResource(parts, checkReadId(parts, id), call),
    write: async (resource, call = {}) => writeResource(parts, resource, call),
    update: async (id, change, call = {}) => updateResource(parts, id, change, call),
    writeStatus: async (status, call = {}) => writeStatus(parts, status, call),
    delete: async (id, call = {}) => deleteResource(parts, id, call),
    validate: (resource) => validateResource(parts, resource),
    list: async (filter, call = {}) => listResources(parts, filter, call),
    listByOwner: async (owner, call = {}) => listOwned(parts, owner, call),
    watch: async (filter, call = {}) => watchResources(parts, filter, call),
  };
}
