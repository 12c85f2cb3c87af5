import type { Event } from "./event.ts";
import type { CapabilitySet, KindCapability } from "./kind.ts";

/** Free-form facts about a collection, for example to find it among the members of a container. */
export type CollectionMetadata = Readonly<Record<string, unknown>>;

/** Options of everything that may wait. */
export interface WaitOptions {
  /** Aborting rejects the wait with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** What happens when more than `limit` events wait in a queue. Without it queues are unbounded. */
export type Overflow =
  /** Queued events of one key are merged into one. Nothing but intermediate versions is lost. */
  | { readonly policy: "coalesce"; readonly limit: number }
  /**
   * The queue is emptied, `onResync` is called in the place of its events, and the current state
   * follows as `add` events: the handler starts over.
   */
  | { readonly policy: "resync"; readonly limit: number; readonly onResync: () => void };

/** Options of a subscription. */
export interface SubscribeOptions {
  /**
   * Whether the current objects are delivered first, as `add` events.
   * @default true
   */
  readonly replay?: boolean;
  /** Aborting unsubscribes. */
  readonly signal?: AbortSignal;
  /** A word for diagnostics. */
  readonly name?: string;
  /** An opt-in bound of the queue. */
  readonly overflow?: Overflow;
  /** Called once when the registration ends, by the caller or the runtime. No event is delivered after it. Must not throw. */
  readonly onEnd?: () => void;
}

/** Called with one event. A returned promise delays the next events of this handler only. */
export type Handler<T> = (event: Event<T>) => void | PromiseLike<void>;

/**
 * Called with all changes of one turn. The handler may keep the array. A returned promise delays the
 * next batches of this handler only.
 */
export type BatchHandler<T> = (events: readonly Event<T>[]) => void | PromiseLike<void>;

/** A subscribed handler. */
export interface HandlerRegistration extends Disposable {
  /** Whether the collection is synced and the handler has finished every event from before that. */
  readonly synced: boolean;
  /** Events waiting for the handler. */
  readonly queued: number;
  /** Whether it has ended, by the caller or the runtime. */
  readonly closed: boolean;
  /**
   * Resolves when {@link HandlerRegistration.synced} becomes true. Rejects with `KRT_DISPOSED` when the
   * registration or its collection ends before.
   */
  whenSynced(options?: WaitOptions): Promise<void>;
  /** Ends it: nothing is delivered any more, queued events included. Harmless when repeated. */
  unsubscribe(): void;
}

declare const TRAITS: unique symbol;

/**
 * A keyed set of objects and the stream of its changes. Objects are immutable by convention. Reads
 * outside transformations see the last committed turn; they are never tracked.
 */
export interface Collection<T, Tr extends KindCapability = never> extends Iterable<T>, Disposable {
  /** Unique within the runtime. */
  readonly id: number;
  readonly name: string;
  readonly metadata: CollectionMetadata | undefined;
  /** Number of objects. */
  readonly size: number;
  readonly disposed: boolean;
  /**
   * Whether everything that was there at the start is in, for this collection and all it read so
   * far. Never goes back to false.
   */
  readonly synced: boolean;
  /** Resolves when {@link Collection.synced} becomes true. Rejects with `KRT_DISPOSED` if it ends before. */
  whenSynced(options?: WaitOptions): Promise<void>;
  get(key: string): T | undefined;
  has(key: string): boolean;
  /** All objects, in no defined order. The array is shared and must not be changed. */
  list(): readonly T[];
  keys(): IterableIterator<string>;
  /** Registers a handler of single events. */
  subscribe(handler: Handler<T>, options?: SubscribeOptions): HandlerRegistration;
  /** Registers a handler of whole turns. */
  subscribeBatch(handler: BatchHandler<T>, options?: SubscribeOptions): HandlerRegistration;
  /** Ends the collection: its last state stays readable, nothing is computed or delivered any more. */
  dispose(): void;
  /** Exists in types only. */
  readonly [TRAITS]?: CapabilitySet<Tr>;
}

/** A collection that holds at most one object. */
export interface Singleton<T, Tr extends KindCapability = never> extends Collection<T, Tr> {
  /** The object, or `undefined` when there is none. */
  readonly value: T | undefined;
}

/** Options of a write. */
export interface CollectionWriteOptions {
  /** Emits an update even when the object equals the present one. */
  readonly force?: boolean;
}

/** Options of a load in slices. */
export interface CollectionLoadOptions extends WaitOptions {
  /** Whether objects that are not among the loaded ones are deleted. */
  readonly replace?: boolean;
}

/** A collection that is written from outside. Writes take effect in a turn of their own or of the open batch. */
export interface InputCollection<T, Tr extends KindCapability = never> extends Collection<T, Tr> {
  /** Adds an object or replaces the one of the same key. An equal object is no change. */
  set(object: T, options?: CollectionWriteOptions): void;
  delete(key: string): void;
  deleteWhere(predicate: (object: T) => boolean): void;
  /** Makes the contents equal to `objects`, with the fewest events. Throws `KRT_DUPLICATE_KEY`. */
  reset(objects: Iterable<T>): void;
  /** Sets many objects in slices; all become visible in one turn. Resolves after its commit. */
  load(objects: Iterable<T> | AsyncIterable<T>, options?: CollectionLoadOptions): Promise<void>;
  /** Declares that the initial objects are in. */
  markSynced(): void;
}

/** A singleton that is written from outside. */
export interface Cell<T, Tr extends KindCapability = never> extends Singleton<T, Tr> {
  /** Replaces the value; `undefined` clears it. A value with another key is a delete and an add. */
  set(value: T | undefined, options?: CollectionWriteOptions): void;
  /** Replaces the value by a function of it, when the write takes effect. */
  update(change: (value: T | undefined) => T | undefined): void;
  markSynced(): void;
}

/** Options of every collection. */
export interface CollectionOptions {
  /** @default a word for the type of the collection and its id */
  readonly name?: string;
  readonly metadata?: CollectionMetadata;
  /** Aborting disposes the collection. */
  readonly signal?: AbortSignal;
}
