import type { StorageCapabilities } from "./capabilities.ts";
import type { DamagedResource } from "./damaged-resource.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "./list/types.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "./resource.ts";

/**
 * How fresh a read must be.
 *
 * - `eventual`: the default. Reads on one backend instance are monotonic: never older than an
 *   earlier read or an event already received on that instance. Earlier writes may be missing.
 * - `strong`: linearizable. The result reflects every write that was acknowledged before the call.
 */
export type ReadConsistency = "eventual" | "strong";

/** Options of every call that may wait. */
export interface CallOptions {
  /**
   * Gives the wait up; the call rejects with the signal's reason. A write that was given up may
   * nevertheless have happened: read again before retrying.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a call that reads many resources. */
export interface ReadManyOptions extends CallOptions {
  /**
   * Receives each damaged resource that the call meets, and the call continues with the others. The caller then decides
   * what it means that these are missing. Without it the first ends the call with `STORAGE_CORRUPT`, which names
   * it, as what is left out would be taken for not stored. Over a connection it has no effect: the call ends.
   */
  readonly onDamaged?: ((damaged: DamagedResource) => void) | undefined;
}

/**
 * A condition on another resource that has to hold in the same atomic step as a write.
 *
 * With a version: the name of `id` holds exactly this version (and, unless `id.uid` is empty, this
 * lifetime). With an empty version: nothing is stored under the name. The group version of `id` is
 * ignored.
 */
export interface Guard {
  readonly id: ResourceId;
  readonly version: string;
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Checked in order, before the write itself is judged; the first that fails makes the write fail
   * with `STORAGE_GUARD_FAILED`. At most `capabilities.guards` of them.
   */
  readonly guards?: readonly Guard[] | undefined;
}

/** One step of a batch; the rules are those of `writeCAS` and `deleteCAS`. */
export type BatchOperation =
  | { readonly kind: "write"; readonly resource: Resource }
  | { readonly kind: "delete"; readonly id: ResourceId; readonly version: string };

/** Options of `watchList`; `onDamaged` is about its snapshot. */
export interface WatchOptions extends ReadManyOptions {
  /**
   * Asks for one `endOfSnapshot` event between the snapshot and the first delta. Needs
   * `capabilities.endOfSnapshot`.
   *
   * @default false
   */
  readonly endOfSnapshot?: boolean | undefined;
  /**
   * Asks for `bookmark` events: from time to time, when others have written and nothing of it is for this watch, one says
   * how far it has come. Without them the last cursor of a quiet watch grows old, until the history after it is gone.
   * An engine without `capabilities.resume` gives none.
   *
   * @default false
   */
  readonly bookmarks?: boolean | undefined;
  /**
   * Continues after the event that carried this cursor: no snapshot and no marker, the next event
   * is the first matching one after it. When the history since then is no longer retained, or the
   * cursor belongs to another store or to the time before a restore, the watch gives
   * `STORAGE_WATCH_CLOSED` at once. Needs `capabilities.resume`.
   */
  readonly resumeAfter?: string | undefined;
}

/**
 * What a watch delivers. `cursor` is a position in the order of all commits for
 * {@link WatchOptions.resumeAfter}; upserts of the snapshot have none, as resuming inside a
 * snapshot would lose its rest.
 */
export type WatchEvent =
  | { readonly operation: "upsert"; readonly resource: Resource; readonly cursor?: string }
  /** The resource is the last one that was stored, in full, with its last version. */
  | { readonly operation: "delete"; readonly resource: Resource; readonly cursor?: string }
  | { readonly operation: "endOfSnapshot"; readonly cursor?: string }
  /** There is nothing for this watch up to here that it has not delivered. Comes on request only. */
  | { readonly operation: "bookmark"; readonly cursor: string };

/**
 * A running watch: first one upsert per matching resource, all from one point in time and in no
 * promised order; then every later matching commit, in commit order, each once.
 *
 * A watch has one consumer. It is also an async iterable: leaving the loop closes it.
 */
export interface Watch extends AsyncIterable<WatchEvent>, Disposable {
  /** For a consumer that follows for many; absent where the engine has none. Who uses it calls no `next`. */
  readonly source?: WatchSource | undefined;
  /**
   * Resolves with the next event. Aborting loses nothing: the following call gets the event.
   *
   * Rejects with the signal's reason; with `STORAGE_WATCH_CLOSED` when the stream cannot continue
   * without loss (restore, compaction, slow consumer, backend closed), then and on every further
   * call: discard what was built from the events and start a new watch; with `STORAGE_WATCH_ENDED`
   * after `close`; with `STORAGE_INVALID_ARGUMENT` while another `next` is pending.
   */
  next(options?: CallOptions): Promise<WatchEvent>;
  /** Frees the watch; a pending `next` rejects. Harmless when repeated. */
  close(): void;
}

/**
 * A watch as a cache follows it: events are taken in the turn in which they are published, so that what was taken is never
 * behind what the other watches of the instance have.
 */
export interface WatchSource {
  /** Takes the next event if there is one already. Its resource shares bytes with the store and must not be changed. */
  take(): WatchEvent | undefined;
  /** Why the watch has ended. */
  readonly failure: Error | undefined;
  /** Whether what was published ends with a whole batch. */
  readonly isWhole: boolean;
  /** `listener` is called, in the turn in which that happens, when there is something to take, or the watch has ended. */
  onReady(listener: () => void): void;
  /** Resolves when everything that was acknowledged before the call, by whichever instance, can be taken. */
  caughtUp(): Promise<void>;
}

/** A point-in-time view of the whole store. Iterate it once; leaving the loop closes it. */
export interface Snapshot extends AsyncIterable<Resource>, AsyncDisposable {
  /**
   * The position of the view in the order of all commits: a watch with this `resumeAfter` continues after
   * it. Absent where the engine does not resume, and over a connection.
   */
  readonly cursor?: string;
  close(): Promise<void>;
}

/**
 * A replacement of the whole content of a store, invisible until `commit`.
 *
 * `commit` swaps the content in one step, keeps the versions as they were given, and closes every
 * watch. Versions given out later differ from all restored ones and from all issued before. Durable
 * engines begin far above them, so that the versions differ also from those that the store of which
 * this is a copy issued after the copy was made.
 * Disposing without a commit aborts; `abort` after `commit` does nothing.
 */
export interface Restore extends AsyncDisposable {
  apply(resource: Resource): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * A compare-and-swap store of resources: the contract that every engine keeps and that
 * `describeStorage` of `@stackwright/storage/testing` proves.
 *
 * Identity: one resource per (group, kind, partition, peer name, namespace, name). The group
 * version and the uid are content. Every write is whole and conditional; read-modify-write belongs
 * to the layer above.
 *
 * Monotonic reads, per instance: after a watch delivered an event, `read`, `list` and `listByOwner`
 * on the same instance show that commit or a later state.
 *
 * Every method rejects with a `StorageError`. `STORAGE_INCONSISTENT` is possible everywhere: the
 * operation could not be done, or (`details.outcome === "unknown"`) it is unknown whether it
 * was. `STORAGE_INVALID_ARGUMENT` and `STORAGE_TOO_LARGE` are possible wherever an argument is
 * stored or compared.
 *
 * Source: Consul's storage backend interface (seed 004); guards, batches, marker, resume, snapshot
 * and restore are ours and declared in `capabilities`.
 */
export interface StorageBackend extends AsyncDisposable {
  /** What this instance can do and promises, as data. */
  readonly capabilities: StorageCapabilities;

  /**
   * Reads one resource.
   *
   * `STORAGE_NOT_FOUND`: nothing stored, or `id.uid` is not empty and another lifetime is stored.
   * `STORAGE_GROUP_VERSION_MISMATCH`: stored with another group version; the error carries the
   * stored resource.
   */
  read(consistency: ReadConsistency, id: ResourceId, options?: CallOptions): Promise<Resource>;

  /**
   * Replaces the whole resource if the stored version is `resource.version`, or creates it if that
   * is empty and nothing is stored. Resolves with the stored resource and its new version. The
   * argument is read before the call returns and never changed.
   *
   * Judged in this order: guards (`STORAGE_GUARD_FAILED`), uid (`STORAGE_WRONG_UID`), version
   * (`STORAGE_CAS_FAILURE`). The group version is not checked.
   */
  writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource>;

  /**
   * Deletes the resource if the stored version is `version` (`STORAGE_CAS_FAILURE` otherwise).
   * Nothing stored, or stored with another uid (an empty `id.uid` included), is success without
   * effect, so that a deletion can be repeated. The group version is not compared.
   *
   * Success therefore says that the version is not stored any more, not that this call deleted it.
   * A caller for which that matters, such as one of several that take a ticket by deleting it, names
   * the same resource and version as a guard: then exactly one call succeeds. This holds in a batch
   * too.
   */
  deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void>;

  /**
   * The resources of a group and kind, of any group version, in no promised order.
   *
   * `namePrefix` is compared byte by byte and has no pattern characters; empty matches all. With
   * `strong` on an engine without `capabilities.strongList`: `STORAGE_INCONSISTENT`.
   */
  list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ReadManyOptions,
  ): Promise<readonly Resource[]>;

  /**
   * One page of what `list` gives, bounded in number and bytes. All pages together are the list at the
   * store revision of the first page, each resource once, whatever is written meanwhile. Needs
   * `capabilities.pagedList` (`STORAGE_UNSUPPORTED` otherwise).
   *
   * `STORAGE_LIST_EXPIRED`: the store revision of the list is not held any more (the instance was
   * restarted, the next page was asked for too late, the content was replaced); list again from the
   * first page. `STORAGE_INVALID_ARGUMENT`: the continuation is none, or of another query.
   */
  listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage>;

  /** The same as `listPage`, but without the bytes of the resources' data, which do not count either. */
  listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage<ResourceHead>>;

  /**
   * Watches what `list` with the same filter gives. What was acknowledged before the call is in the
   * snapshot; events come in commit order, without any promise of time.
   */
  watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: WatchOptions,
  ): Promise<Watch>;

  /**
   * The resources whose owner is `id`: equal group, kind, tenancy, name and uid. The owner need not
   * exist. After the delete event of an owner was received, the result holds every reference that
   * existed when it was deleted.
   */
  listByOwner(id: ResourceId, options?: ReadManyOptions): Promise<readonly Resource[]>;

  /**
   * Applies all operations in one atomic step, or none. At most `capabilities.batch` operations on
   * pairwise different names. Resolves with the stored resource per write and `undefined` per
   * delete. The error of the first operation that fails carries its position (`details.index`).
   * Watchers receive the commits of a batch in the order of its operations, uninterrupted.
   */
  batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]>;

  /** Opens a point-in-time view of everything stored. Needs `capabilities.snapshot`. */
  snapshot(options?: ReadManyOptions): Promise<Snapshot>;

  /** Starts to replace everything stored. Needs `capabilities.restore`. */
  restore(options?: CallOptions): Promise<Restore>;

  /**
   * Ends the instance: pending and later `next` of its watches give `STORAGE_WATCH_CLOSED`, later
   * calls `STORAGE_INCONSISTENT`. Idempotent; resolves when nothing of it runs any more.
   */
  close(): Promise<void>;
}
