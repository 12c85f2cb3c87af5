import type { StorageCapabilities } from "../capabilities.ts";
import type { ResourceFilter } from "../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../list/types.ts";
import type { Resource, ResourceId } from "../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  Guard,
  ReadConsistency,
  ReadManyOptions,
  Restore,
  Snapshot,
  Watch,
  WatchOptions,
} from "../types.ts";

/** Writes in one atomic step, their form checked. */
export interface CheckedWrite {
  readonly operations: readonly BatchOperation[];
  readonly guards: readonly Guard[];
  /** Whether errors carry the position of their operation. */
  readonly batch: boolean;
}

/**
 * What an engine does; the rest of the contract of `StorageBackend` is `EngineBackend`. It is called while the backend
 * is open, with arguments that are checked and with nothing that `capabilities` excludes.
 *
 * Operations and guards are the caller's objects, which may change once a method has returned its promise: an engine
 * copies before that what it needs later. Filters and ids are its own. Where `signal` aborts, the caller is answered
 * whatever the engine does; the engine may use it to stop earlier.
 */
export interface EngineAdapter {
  readonly capabilities: StorageCapabilities;

  /** What is stored under the name of an id, of whatever uid and group version. */
  read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions,
  ): Promise<Resource | undefined>;

  /** Gives the stored resource for each write and `undefined` for each delete. */
  write(request: CheckedWrite, options: CallOptions): Promise<readonly (Resource | undefined)[]>;

  list(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ReadManyOptions,
  ): Promise<readonly Resource[]>;

  listPage(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage>;

  listHeads(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>>;

  listByOwner(owner: ResourceId, options: ReadManyOptions): Promise<readonly Resource[]>;

  watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch>;

  snapshot(options: ReadManyOptions): Promise<Snapshot>;

  /** `checkOpen` throws once the backend is closed. */
  restore(checkOpen: () => void): Promise<Restore>;

  /** Called once. Ends the watches and resolves when nothing of the engine runs any more. */
  close(): Promise<void>;
}
