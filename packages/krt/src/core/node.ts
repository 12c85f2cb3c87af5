import type {
  BatchHandler,
  Collection,
  CollectionMetadata,
  CollectionOptions,
  Handler,
  HandlerRegistration,
  SubscribeOptions,
  WaitOptions,
} from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Event } from "../event.ts";
import { COLLECTION, type Kind } from "../kind.ts";
import { Buffer } from "./buffer.ts";
import { Comparer } from "./comparer.ts";
import { createCounters } from "./counters.ts";
import type { Edge, EdgeType } from "./edge.ts";
import type { Entry } from "./entry.ts";
import type { Graph } from "./graph.ts";
import { IndexSet } from "./index-set.ts";
import type { AnyIndex } from "./index-store.ts";
import { Latch } from "./latch.ts";
import type { Leveled } from "./level-queue.ts";
import { QueryRegistry } from "./query-registry.ts";
import type { MutableEvent, Row } from "./row.ts";
import type { Owner } from "./scope.ts";
import type { StrictMode } from "./strict.ts";
import { SubscriberList } from "./subscriber-list.ts";
import { Subscription } from "./subscription.ts";

/** A node with objects of any type: nodes are invariant in their type, and the graph mixes them. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type AnyNode = CollectionNode<any>;

/** Word for what a node is, in names, diagrams and dumps. */
export type NodeType =
  | "source"
  | "watch"
  | "stream"
  | "cell"
  | "derive"
  | "singleton"
  | "status"
  | "join"
  | "nested-join"
  | "view"
  | "ordered"
  | "group"
  | "aggregate";

/** How far a node is on the one-way road to being synced. */
export const SyncState = { unsynced: 0, inTurn: 1, committed: 2 } as const;
type SyncState = (typeof SyncState)[keyof typeof SyncState];

/**
 * A collection in the graph. This class holds what all types of nodes share: identity, reading,
 * edges, the part of a turn that comes after computing, sync, subscriptions and disposal.
 *
 * A node goes through a turn in this order, driven by the graph:
 * `process` (compute, then publish; resumable between any two keys), `commit` (once for all nodes of
 * the turn), `sweep` (resumable).
 *
 * Invariants:
 * - From the first change to commit, `changed.at(i)` and `events.at(i)` are the same change and a row occurs
 *   once. `events` is empty from commit on, `changed` from the sweep on.
 * - Outside of processing, indexes agree with the rows (see {@link IndexStore}).
 * - `inputs` and `readers` are the two ends of the same edges.
 */
export abstract class CollectionNode<T> implements Collection<T>, Leveled<AnyNode> {
  readonly [COLLECTION] = true;
  abstract readonly type: NodeType;
  readonly id: number;
  readonly name: string;
  readonly metadata: CollectionMetadata | undefined;
  readonly kind: Kind<T>;
  /** The equality of the kind. */
  readonly comparer: Comparer<T>;
  readonly graph: Graph;
  protected readonly strict: StrictMode | undefined;
  readonly counters = createCounters();

  /** The run of a transformation that made this collection, if one did. */
  readonly madeIn: number | undefined;

  level = 0;
  queued = false;
  nextQueued: AnyNode | undefined = undefined;
  readonly inputs: Edge[] = [];
  readonly readers: Edge[] = [];
  #lastEdge: Edge | undefined;

  /** Whether the node is on the list of nodes that take part in the open turn. */
  touched = false;
  readonly changed = new Buffer<Row<T>>();
  readonly events = new Buffer<MutableEvent<T>>();
  #computed = false;
  #published = 0;
  #swept = 0;
  #listed: readonly T[] | undefined;
  #listStale = false;

  syncState: SyncState = SyncState.unsynced;
  readonly #syncGate = new Latch();
  /** Entries whose run found this node unsynced. */
  readonly awaiting = new Set<Entry>();

  readonly indexes: IndexSet<T>;
  readonly queries: QueryRegistry<T>;
  readonly subscribers: SubscriberList<T>;
  readonly #owner: Owner;
  readonly #signal: AbortSignal | undefined;
  #disposed = false;

  constructor(
    owner: Owner,
    type: NodeType,
    kind: Kind<T>,
    options: CollectionOptions,
    metadata = options.metadata,
  ) {
    const { graph } = owner;
    graph.checkOpen();
    this.graph = graph;
    this.strict = graph.options.strict;
    this.id = graph.nextId();
    this.kind = kind;
    this.comparer = new Comparer(kind.equals);
    this.madeIn = graph.tracker.run;
    this.name = owner.qualify(options.name ?? `${type}-${this.id}`);
    this.metadata = metadata;
    this.queries = new QueryRegistry(this);
    this.indexes = new IndexSet(this);
    this.subscribers = new SubscriberList(graph, this.strict);
    this.#owner = owner;
    this.#signal = options.signal;
    owner.add(this);
    graph.nodes.add(this);
    if (options.signal !== undefined) {
      if (options.signal.aborted) graph.turn.after(() => this.dispose());
      else options.signal.addEventListener("abort", this.#abort, { once: true });
    }
  }

  readonly #abort = (): void => this.dispose();

  // ---- storage, given by each type of node ----

  /** The row of a key, possibly a tombstone of the open turn. */
  abstract rowAt(key: string): Row<T> | undefined;
  /** All rows, tombstones of the open turn included. */
  abstract rows(): Iterable<Row<T>>;
  /** Value as of now, `undefined` for tombstones. */
  abstract valueOf(row: Row<T>): T | undefined;
  /** Whether the row is there as of now, without making its value. */
  isPresent(row: Row<T>): boolean {
    return this.valueOf(row) !== undefined;
  }
  /** Value as of the last commit, `undefined` for rows that were not there. */
  abstract committedOf(row: Row<T>): T | undefined;
  /** Number of objects as of now, and as of the last commit. */
  abstract count(committed: boolean): number;
  /** Takes in changes of inputs and runs what is dirty. False: call again (out of time, or level raised). */
  protected abstract compute(): boolean;
  /** Releases what the type of node holds. */
  protected abstract release(): void;
  /** Forgets the turn's state of one changed row. */
  protected abstract sweepRow(row: Row<T>): void;

  // ---- reading ----

  /** Whether readers outside see the last commit, although this or another node is further already. */
  protected get readsCommitted(): boolean {
    return this.graph.turn.paused;
  }

  #visible(row: Row<T>): T | undefined {
    return this.readsCommitted ? this.committedOf(row) : this.valueOf(row);
  }

  get(key: string): T | undefined {
    this.graph.guardRead(this);
    const row = this.rowAt(key);
    return row === undefined ? undefined : this.#visible(row);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get size(): number {
    this.graph.guardRead(this);
    return this.count(this.readsCommitted);
  }

  list(): readonly T[] {
    this.graph.guardRead(this);
    const committed = this.readsCommitted || this.events.count === 0;
    if (committed && this.#listed !== undefined) return this.#listed;
    const list: T[] = [];
    for (const row of this.rows()) {
      const value = this.#visible(row);
      if (value !== undefined) list.push(value);
    }
    if (committed) this.#listed = list;
    return this.strict === undefined ? list : this.strict.shared(list);
  }

  *keys(): IterableIterator<string> {
    this.graph.guardRead(this);
    for (const row of this.rows()) if (this.#visible(row) !== undefined) yield row.key;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.list()[Symbol.iterator]();
  }

  /** Has the cached list forgotten with the turn, for changes that were not worth an event. */
  protected forgetList(): void {
    this.#listStale = true;
  }

  readIndex(index: AnyIndex<T>, key: unknown): readonly T[] {
    this.graph.guardRead(this);
    const found: T[] = [];
    const committed = this.readsCommitted;
    for (const row of index.rowsAt(key)) {
      const value = this.#visible(row);
      if (value === undefined || (committed && !index.holds(value, key))) continue;
      found.push(value);
    }
    if (!committed) return found;
    for (const row of index.leftInTurn(key)) {
      const value = this.committedOf(row);
      if (value !== undefined && index.holds(value, key)) found.push(value);
    }
    return found;
  }

  /** Collections as objects of a collection are compared by identity. */
  equals(other: unknown): boolean {
    return this === other;
  }

  // ---- edges ----

  /** Counts one more reason for this node to read `source`; the first raises levels. Throws `KRT_CYCLE`. */
  addEdge(source: AnyNode, type: EdgeType): void {
    const last = this.#lastEdge;
    if (last !== undefined && last.source === source && last.type === type && last.count > 0) {
      last.count++;
      return;
    }
    this.#lastEdge = this.graph.connect(source, this, type);
  }

  removeEdge(source: AnyNode, type: EdgeType): void {
    const last = this.#lastEdge;
    const edge =
      last !== undefined && last.source === source && last.type === type
        ? last
        : this.inputs.find((one) => one.source === source && one.type === type);
    if (edge !== undefined) this.graph.disconnect(edge);
  }

  // ---- turn ----

  /** Does the node's work of the turn. False: not finished, call again when the node comes up again. */
  process(): boolean {
    this.touch();
    if (!this.#computed) {
      if (!this.compute()) return false;
      this.#computed = true;
      this.compact();
      this.counters.turns++;
    }
    return this.#publish();
  }

  touch(): void {
    if (this.touched) return;
    this.touched = true;
    this.graph.turn.touched.push(this);
  }

  /** Removes changes that undid each other within the turn. Only nodes that can produce such override it. */
  protected compact(): void {}

  /** Takes back the open turn's writes. Only nodes that are written from outside have any. */
  undoTurn(): void {}

  /** Makes the node synced in this turn; visible outside from its commit on. */
  protected becomeSynced(): void {
    if (this.syncState !== SyncState.unsynced) return;
    this.syncState = SyncState.inTurn;
    this.touch();
  }

  #publish(): boolean {
    const { graph, events } = this;
    if (this.#published < events.count) {
      this.#published = this.queries.publish(this.#published);
      if (this.#published < events.count) return false;
    }
    const synced = this.syncState === SyncState.inTurn;
    if (events.count > 0 || synced) {
      for (const { type, reader } of this.readers) {
        if (type === "input" || (type === "static" && synced)) graph.turn.enqueue(reader);
      }
    }
    if (synced && this.awaiting.size > 0) {
      const entries = [...this.awaiting];
      this.awaiting.clear();
      for (const entry of entries) entry.mark();
    }
    return true;
  }

  /** Makes the turn visible: hands events to subscriptions and resolves waiters. O(subscriptions). */
  commit(): void {
    const { events, subscribers } = this;
    this.touched = false;
    this.#computed = false;
    if (events.count > 0 || this.#listStale) this.#listed = undefined;
    this.#listStale = false;
    if (events.count > 0) {
      this.#published = 0;
      this.counters.events += events.count;
      if (subscribers.members.length > 0) subscribers.deliver(events);
      else events.clear();
    }
    if (this.syncState === SyncState.inTurn) {
      this.syncState = SyncState.committed;
      for (const subscription of subscribers.members) subscription.parentSynced();
      this.#syncGate.open();
    }
  }

  /** Clears the turn out of the rows. Returns false when time ran out. */
  sweep(): boolean {
    const { changed, graph } = this;
    let i = this.#swept;
    while (i < changed.count) {
      this.sweepRow(changed.at(i));
      if ((++i & 255) === 0 && graph.turn.outOfTime()) {
        this.#swept = i;
        return false;
      }
    }
    this.#swept = 0;
    changed.clear();
    this.indexes.sweep();
    return true;
  }

  // ---- sync ----

  get synced(): boolean {
    this.graph.writes.pay();
    return this.syncState === SyncState.committed;
  }

  whenSynced(options?: WaitOptions): Promise<void> {
    return this.#syncGate.wait(options);
  }

  // ---- subscriptions ----

  subscribe(handler: Handler<T>, options: SubscribeOptions = {}): HandlerRegistration {
    return this.#register(new Subscription<T>(this, handler, undefined, options), options);
  }

  subscribeBatch(handler: BatchHandler<T>, options: SubscribeOptions = {}): HandlerRegistration {
    return this.#register(new Subscription<T>(this, undefined, handler, options), options);
  }

  #register(subscription: Subscription<T>, options: SubscribeOptions): HandlerRegistration {
    if (this.#disposed || options.signal?.aborted === true) {
      subscription.unsubscribe();
      return subscription;
    }
    this.graph.writes.pay();
    this.subscribers.add(subscription);
    subscription.start(options.replay ?? true);
    return subscription;
  }

  /**
   * The committed state as `add` events. What the open turn changed comes with its commit. An object of which a function of the
   * collection throws is reported and left out, as where it changes.
   */
  replay(): Event<T>[] {
    const open = this.readsCommitted || this.events.count > 0;
    const events: Event<T>[] = [];
    for (const row of this.rows()) {
      try {
        const value = open ? this.committedOf(row) : this.valueOf(row);
        if (value !== undefined)
          events.push({ type: "add", key: row.key, old: undefined, new: value });
      } catch (error) {
        this.graph.reportCallback("a function", this.name, error);
      }
    }
    return events;
  }

  // ---- end ----

  get disposed(): boolean {
    return this.#disposed;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.graph.guardWrite(this.name);
    this.graph.writes.pay();
    if (this.graph.turn.isOpen) {
      this.subscribers.endAll();
      this.graph.turn.after(() => this.dispose());
      return;
    }
    this.#disposed = true;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.release();
    for (const edge of this.inputs.slice()) this.graph.disconnect(edge, true);
    if (this.awaiting.size > 0) {
      this.graph.writes.begin();
      for (const entry of Array.from(this.awaiting)) entry.mark();
      this.graph.writes.endNow();
    }
    this.subscribers.endAll();
    this.indexes.release();
    this.#syncGate.fail(new KrtError("KRT_DISPOSED", `collection ${this.name} was disposed`));
    this.graph.nodes.delete(this);
    this.#owner.remove(this);
    this.graph.turn.runHooks();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
