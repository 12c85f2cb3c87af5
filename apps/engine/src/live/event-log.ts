import type { Collection, Inspector, Runtime } from "@stackwright/krt";

/** A change of an object of the live view. */
interface LoggedEvent {
  readonly turn: number;
  readonly atMs: number;
  readonly collection: string;
  readonly key: string;
  readonly type: "add" | "update" | "delete";
}

// Invariant: `#events[#next]` is the oldest event once the log is full. What a collection began with is no event: it would be all
// that the log has after each start.

/** The last changes of the collections that a runtime has when it is made, for diagnosis: what changed and when, no objects. */
export class EventLog implements Disposable {
  readonly #capacity: number;
  readonly #nowMs: () => number;
  readonly #rt: Runtime;
  readonly #events: LoggedEvent[] = [];
  readonly #ended = new AbortController();
  #next = 0;

  /** `capacity`: events that are kept, of all collections together. */
  constructor(
    rt: Runtime,
    { capacity, nowMs }: { readonly capacity: number; readonly nowMs: () => number },
  ) {
    this.#rt = rt;
    this.#capacity = capacity;
    this.#nowMs = nowMs;
    const inspector = rt.inspect();
    for (const { name } of inspector.collections()) this.#follow(inspector, name);
  }

  /** The last changes of an object, the newest first. */
  eventsOf(collection: string, key: string): LoggedEvent[] {
    return this.#events
      .filter((event) => event.collection === collection && event.key === key)
      .toSorted((a, b) => b.turn - a.turn);
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
  }

  #follow(inspector: Inspector, name: string): void {
    const collection = inspector.named(name);
    if (collection === undefined) return;
    const { signal } = this.#ended;
    collection.whenSynced({ signal }).then(
      () => this.#subscribe(collection, signal),
      // It ended before it was in sync: there is nothing to follow.
      () => undefined,
    );
  }

  #subscribe(collection: Collection<unknown>, signal: AbortSignal): void {
    if (signal.aborted || collection.disposed) return;
    collection.subscribeBatch(
      (events) => {
        const turn = this.#rt.version;
        const atMs = this.#nowMs();
        for (const { type, key } of events) {
          this.#add({ turn, atMs, collection: collection.name, key, type });
        }
      },
      { replay: false, signal, name: "event log" },
    );
  }

  #add(event: LoggedEvent): void {
    this.#events[this.#next] = event;
    this.#next = (this.#next + 1) % this.#capacity;
  }
}
