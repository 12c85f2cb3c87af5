import type { Graph } from "../core/graph.ts";
import type { SourceNode } from "../core/source-node.ts";
import { KrtError } from "../errors.ts";

/** A change that comes from outside. A delete may name the key or the object. */
export type FeedEvent<T> =
  | { readonly type: "set"; readonly object: T }
  | { readonly type: "delete"; readonly key: string }
  | { readonly type: "delete"; readonly object: T };

type Change<T> = { readonly set: T } | { readonly deleted: true };

/** Number of changes of a burst between two checks of the clock. */
const CHANGES_PER_CLOCK = 64;

/**
 * Brings changes from outside into a source.
 *
 * The first change after a pause takes effect at once. What follows within the same round of the event
 * loop is collected, the newest per key, and takes effect together after it, in slices: a stream that
 * delivers faster than the graph propagates costs one turn per round, not one per change.
 *
 * Invariant: `#pending` holds what came since the last turn was begun, and a flush is scheduled or
 * running while it is not empty or `#hot`.
 */
export class Feed<T> {
  readonly node: SourceNode<T>;
  readonly #graph: Graph;
  #pending = new Map<string, Change<T>>();
  #hot = false;
  #closed = false;
  #flushed: Promise<void> = Promise.resolve();

  constructor(node: SourceNode<T>) {
    this.node = node;
    this.#graph = node.graph;
  }

  /** Takes in one change. An object that the collection refuses is reported and left out. */
  push(event: FeedEvent<T>): void {
    if (this.#closed) return;
    try {
      this.#take(event);
    } catch (error) {
      this.fail("an object", error);
    }
  }

  #take(event: FeedEvent<T>): void {
    const key = "key" in event ? event.key : this.node.kind.key(event.object);
    const change: Change<T> = event.type === "set" ? { set: event.object } : { deleted: true };
    if (this.#hot) {
      // Deleting first makes the newest change the last one of the map.
      this.#pending.delete(key);
      this.#pending.set(key, change);
      return;
    }
    this.#hot = true;
    this.#graph.options.scheduler.macrotask(() => this.#flush());
    this.#graph.writes.change(this.node, () => this.#apply(key, change));
  }

  /** Makes the contents equal to `objects`, in one turn, in slices. What was pending is superseded. */
  async replace(objects: Iterable<T> | AsyncIterable<T>, signal?: AbortSignal): Promise<void> {
    this.#pending = new Map();
    await this.node.load(
      objects,
      signal === undefined ? { replace: true } : { replace: true, signal },
    );
  }

  /** Resolves when everything that was pushed is in the graph. */
  async drained(): Promise<void> {
    while (this.#hot && !this.#closed) {
      await this.#flushed;
      await new Promise<void>((resolve) => this.#graph.options.scheduler.macrotask(resolve));
    }
  }

  markSynced(): void {
    if (!this.#closed) this.node.markSynced();
  }

  close(): void {
    this.#closed = true;
    this.#pending.clear();
  }

  fail(what: string, error: unknown): void {
    if (this.#closed) return;
    const text = error instanceof Error ? error.message : String(error);
    this.#graph.report(
      new KrtError("KRT_SOURCE", `${what} of ${this.node.name} failed: ${text}`, {
        details: { collection: this.node.name },
        cause: error,
      }),
    );
  }

  #apply(key: string, change: Change<T>): void {
    if ("set" in change) this.node.put(change.set, false);
    else this.node.remove(key);
  }

  /** An object that the collection refuses is left out alone, not with all that came with it. */
  #tryApply(key: string, change: Change<T>): void {
    try {
      this.#apply(key, change);
    } catch (error) {
      this.fail("an object", error);
    }
  }

  #flush(): void {
    if (this.#pending.size === 0 || this.#closed) {
      this.#hot = false;
      return;
    }
    const changes = this.#pending;
    this.#pending = new Map();
    this.#flushed = this.#carryOut(changes);
  }

  async #carryOut(changes: ReadonlyMap<string, Change<T>>): Promise<void> {
    const graph = this.#graph;
    const entries = changes.entries();
    try {
      await graph.writes.sliced(() => {
        if (this.node.disposed) return true;
        for (let i = 1; ; i++) {
          const next = entries.next();
          if (next.done === true) return true;
          this.#tryApply(next.value[0], next.value[1]);
          if (i % CHANGES_PER_CLOCK === 0 && graph.turn.outOfTime()) return false;
        }
      });
    } catch (error) {
      this.fail("a change", error);
    }
    graph.options.scheduler.macrotask(() => this.#flush());
  }
}
