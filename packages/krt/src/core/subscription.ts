import type {
  BatchHandler,
  Handler,
  HandlerRegistration,
  Overflow,
  SubscribeOptions,
  WaitOptions,
} from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Event } from "../event.ts";
import { coalesceEvents } from "./coalesce.ts";
import { Latch } from "./latch.ts";
import type { CollectionNode } from "./node.ts";

/** Stands in a queue behind the last event from before the collection was synced. */
const SYNC = Symbol("sync");

/** A lone event stands for a batch of one, where only handlers of single events are there to get it. */
type Item<T> = readonly Event<T>[] | Event<T> | typeof SYNC;

/** Number of handler calls between two checks of the clock. */
const CALLS_PER_CLOCK = 32;

/**
 * A handler and its queue.
 *
 * Invariants:
 * - What is in the queue is, in order and without gaps, what the collection committed since the
 *   registration and the handler has not yet been given; unless `#resyncing`, when the handler will be
 *   given the state as of then instead, and the queue is empty.
 * - While `#busy` the handler's promise is pending, and nothing else is handed to it.
 * - `waiting` is whether the subscription is in the list of those with something to do.
 */
export class Subscription<T> implements HandlerRegistration {
  readonly name: string | undefined;
  readonly batched: boolean;
  readonly #node: CollectionNode<T>;
  readonly #handler: Handler<T> | undefined;
  readonly #batchHandler: BatchHandler<T> | undefined;
  readonly #overflow: Overflow | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onEnd: (() => void) | undefined;
  readonly #gate = new Latch();
  #items: Item<T>[] = [];
  #head = 0;
  /** Next event of the batch at the head, for handlers of single events. */
  #cursor = 0;
  #queued = 0;
  #nextMark: number;
  #resyncing = false;
  #busy = false;
  #closed = false;
  waiting = false;

  constructor(
    node: CollectionNode<T>,
    handler: Handler<T> | undefined,
    batchHandler: BatchHandler<T> | undefined,
    options: SubscribeOptions,
  ) {
    this.#node = node;
    this.#handler = handler;
    this.#batchHandler = batchHandler;
    this.batched = batchHandler !== undefined;
    this.name = options.name;
    this.#overflow = options.overflow;
    this.#nextMark = node.graph.options.highWater;
    this.#signal = options.signal;
    this.#onEnd = options.onEnd;
    options.signal?.addEventListener("abort", this.#abort, { once: true });
  }

  readonly #abort = (): void => this.unsubscribe();

  get synced(): boolean {
    return this.#gate.isOpen;
  }

  get queued(): number {
    return this.#queued;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether a promise of the handler is pending. */
  get busy(): boolean {
    return this.#busy;
  }

  whenSynced(options?: WaitOptions): Promise<void> {
    return this.#gate.wait(options);
  }

  /** Called once, when the subscription is in the node's list. */
  start(replay: boolean): void {
    if (replay) {
      const events = this.#node.replay();
      if (events.length > 0) this.enqueue(events);
    }
    if (this.#node.synced) this.parentSynced();
    this.#node.graph.delivery.kick();
  }

  /** Appends the events of a turn. */
  enqueue(events: readonly Event<T>[]): void {
    if (this.#resyncing) return;
    this.#items.push(events);
    this.#queued += events.length;
    if (this.#queued > this.#nextMark) this.#reportDepth();
    if (this.#overflow !== undefined && this.#queued > this.#overflow.limit) this.#shrink();
    this.#wake();
  }

  /** Appends the only event of a turn. For handlers of single events. */
  enqueueOne(event: Event<T>): void {
    if (this.#resyncing) return;
    this.#items.push(event);
    if (++this.#queued > this.#nextMark) this.#reportDepth();
    if (this.#overflow !== undefined && this.#queued > this.#overflow.limit) this.#shrink();
    this.#wake();
  }

  /** The collection is synced: what is queued now is the last of the initial events. */
  parentSynced(): void {
    if (this.#gate.isOpen) return;
    if (!this.#busy && !this.#resyncing && this.#head === this.#items.length) {
      this.#gate.open();
      return;
    }
    this.#items.push(SYNC);
    this.#wake();
  }

  #wake(): void {
    if (!this.#busy) this.#node.graph.delivery.add(this);
  }

  unsubscribe(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#items = [];
    this.#head = 0;
    this.#queued = 0;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#node.subscribers.remove(this);
    this.#gate.fail(new KrtError("KRT_DISPOSED", "the registration was ended"));
    this.#onEnd?.();
  }

  [Symbol.dispose](): void {
    this.unsubscribe();
  }

  /** Hands queued items to the handler until there are none, it is busy, or `deadline` passed. */
  run(deadline: number): void {
    const { graph } = this.#node;
    let calls = 0;
    while (!this.#closed && !this.#busy) {
      if (this.#resyncing) {
        this.#resync();
        continue;
      }
      const item = this.#items[this.#head];
      if (item === undefined) break;
      if (item === SYNC) {
        this.#shift();
        this.#gate.open();
        continue;
      }
      this.#handOver(item);
      graph.writes.flush();
      if (++calls % CALLS_PER_CLOCK === 0 && graph.now() >= deadline) break;
    }
    if (!this.#closed && !this.#busy && this.#head < this.#items.length) this.#wake();
  }

  #handOver(item: readonly Event<T>[] | Event<T>): void {
    if (!Array.isArray(item)) {
      this.#shift();
      this.#queued--;
      if (this.#handler !== undefined) this.#call(this.#handler, item as Event<T>, undefined);
      return;
    }
    const events = item as readonly Event<T>[];
    if (this.#handler === undefined) {
      this.#shift();
      this.#queued -= events.length;
      if (this.#batchHandler !== undefined) this.#call(this.#batchHandler, events, events);
      return;
    }
    const event = events[this.#cursor] as Event<T>;
    if (++this.#cursor === events.length) this.#shift();
    this.#queued--;
    this.#call(this.#handler, event, events);
  }

  #call<A>(
    handle: (argument: A) => void | PromiseLike<void>,
    argument: A,
    batch: readonly Event<T>[] | undefined,
  ): void {
    const { graph } = this.#node;
    let result: unknown;
    let isPending = false;
    graph.delivery.onStack++;
    try {
      result =
        graph.turnOf === undefined || batch === undefined
          ? handle(argument)
          : this.#instrument(() => handle(argument), batch);
      isPending = isPromise(result);
    } catch (error) {
      this.#reportFailure(error);
    } finally {
      graph.delivery.onStack--;
    }
    if (isPending) this.#await(result as PromiseLike<unknown>);
  }

  #instrument(call: () => unknown, batch: readonly Event<T>[]): unknown {
    const { graph, name } = this.#node;
    const turn = graph.turnOf?.get(batch);
    const events = this.batched ? batch.length : 1;
    const delivery = { collection: name, subscription: this.name, events, turn };
    return graph.options.instrumentation?.deliver?.(delivery, call);
  }

  #await(promise: PromiseLike<unknown>): void {
    this.#busy = true;
    const { delivery } = this.#node.graph;
    delivery.busy++;
    const release = (): void => {
      this.#busy = false;
      delivery.busy--;
      if (!this.#closed && (this.#resyncing || this.#head < this.#items.length)) this.#wake();
      delivery.kick();
    };
    const fail = (error: unknown): void => {
      this.#reportFailure(error);
      release();
    };
    // What is like a promise may throw as it is asked.
    try {
      Promise.resolve(promise).then(release, fail);
    } catch (error) {
      fail(error);
    }
  }

  #shift(): void {
    this.#cursor = 0;
    this.#head++;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  #shrink(): void {
    if (this.#overflow?.policy === "resync") {
      this.#resyncing = true;
      this.#items = [];
      this.#head = 0;
      this.#cursor = 0;
      this.#queued = 0;
      return;
    }
    const rest = this.#items.slice(this.#head);
    const [first] = rest;
    if (this.#cursor > 0 && Array.isArray(first)) rest[0] = first.slice(this.#cursor);
    this.#head = 0;
    this.#cursor = 0;
    const sync = rest.indexOf(SYNC);
    const parts = sync < 0 ? [rest] : [rest.slice(0, sync), rest.slice(sync + 1)];
    const merged = parts.map((part) =>
      coalesceEvents(part as readonly (readonly Event<T>[] | Event<T>)[]),
    );
    this.#items = [];
    for (const [i, events] of merged.entries()) {
      if (i > 0) this.#items.push(SYNC);
      if (events.length > 0) this.#items.push(events);
    }
    this.#queued = merged.reduce((sum, events) => sum + events.length, 0);
  }

  #resync(): void {
    this.#resyncing = false;
    const overflow = this.#overflow;
    if (overflow?.policy === "resync") this.#call(overflow.onResync, undefined, undefined);
    const events = this.#node.replay();
    if (events.length > 0) {
      this.#items.push(events);
      this.#queued += events.length;
    }
    if (this.#node.synced && !this.#gate.isOpen) this.#items.push(SYNC);
  }

  #reportDepth(): void {
    this.#nextMark *= 2;
    const { graph, name: collection } = this.#node;
    // It is called within the turn: what it throws would keep the turn from what comes behind it.
    try {
      graph.options.onWarning?.({
        type: "queue-high-water",
        collection,
        subscription: this.name,
        queued: this.#queued,
      });
    } catch (error) {
      graph.reportCallback("onWarning", collection, error);
    }
  }

  #reportFailure(error: unknown): void {
    const { name } = this.#node;
    const text = error instanceof Error ? error.message : String(error);
    this.#node.graph.report(
      new KrtError("KRT_HANDLER", `a handler of ${name} failed: ${text}`, {
        details: { collection: name },
        cause: error,
      }),
    );
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}
