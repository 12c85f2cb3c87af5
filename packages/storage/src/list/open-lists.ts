import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { StorageError } from "../errors.ts";
import { listExpired } from "./continuation.ts";

/** Bounds of the lists that an instance holds open between their pages. */
interface OpenListBounds {
  /** Most lists; a further one ends the one that was not used for the longest time. */
  readonly most: number;
  /** How long a list may wait for its next page, in milliseconds. */
  readonly idleMs: number;
  /** How long a list may take from its first to its last page, in milliseconds. */
  readonly lifeMs: number;
}

/** Bounds of engines that have none of their own: what a view of the store holds back is freed in minutes. */
export const OPEN_LIST_BOUNDS: OpenListBounds = Object.freeze({
  most: 64,
  idleMs: 60_000,
  lifeMs: 300_000,
});

interface OpenList<V> {
  readonly view: V;
  readonly query: string;
  readonly openedMs: number;
  usedMs: number;
  /** Pages that are being read; a list in use is not ended. */
  users: number;
}

/**
 * Views of a store, each held for the next page of a list. Every view has an end: its last page, idle
 * time, life time, a newer list, or the close of the instance.
 */
export class OpenLists<V> {
  readonly #lists = new Map<string, OpenList<V>>();
  readonly #bounds: OpenListBounds;
  readonly #release: (view: V) => void;
  readonly #clock: Clock;
  #sweep: Disposable | undefined;
  #isClosed = false;

  /** `release` frees a view and never throws. */
  constructor(bounds: OpenListBounds, release: (view: V) => void, clock: Clock = systemClock) {
    this.#bounds = bounds;
    this.#release = release;
    this.#clock = clock;
  }

  get size(): number {
    return this.#lists.size;
  }

  /**
   * Holds a view for the list of a query, and returns the name of the list. `STORAGE_INCONSISTENT` when
   * as many are in use as there may be, or after `close`; then the view stays the caller's.
   */
  open(query: string, view: V): string {
    if (this.#isClosed) {
      throw new StorageError("STORAGE_INCONSISTENT", "the backend was closed", {
        details: { outcome: "not-applied" },
      });
    }
    if (this.#lists.size >= this.#bounds.most && !this.endOldest()) {
      throw new StorageError(
        "STORAGE_INCONSISTENT",
        `${this.#bounds.most} lists are being read in pages, the most at a time; try again`,
        { details: { outcome: "not-applied", limit: this.#bounds.most } },
      );
    }
    const now = this.#clock.monotonicMs();
    const name = randomUUID();
    this.#lists.set(name, { view, query, openedMs: now, usedMs: now, users: 0 });
    this.#sweepLater();
    return name;
  }

  /** Reads a page from the view of a list; `STORAGE_LIST_EXPIRED` when there is none of the name and query. */
  async use<T>(name: string, query: string, read: (view: V) => Promise<T>): Promise<T> {
    const list = this.#find(name, query);
    list.users += 1;
    try {
      return await read(list.view);
    } finally {
      list.users -= 1;
      list.usedMs = this.#clock.monotonicMs();
      // It was ended meanwhile, which had to wait for this page.
      if (this.#lists.get(name) !== list && list.users === 0) this.#release(list.view);
    }
  }

  /** The same for a view that is read in one step. */
  useNow<T>(name: string, query: string, read: (view: V) => T): T {
    const list = this.#find(name, query);
    list.usedMs = this.#clock.monotonicMs();
    return read(list.view);
  }

  /** Ends a list; harmless when it has ended. */
  end(name: string): void {
    const list = this.#lists.get(name);
    if (list === undefined) return;
    this.#lists.delete(name);
    if (list.users === 0) this.#release(list.view);
    if (this.#lists.size === 0) this.#stopSweep();
  }

  /** Ends the list that was not used for the longest time; false where pages of all are being read. */
  endOldest(): boolean {
    let oldest: [string, OpenList<V>] | undefined;
    for (const entry of this.#lists) {
      if (entry[1].users > 0) continue;
      if (oldest === undefined || entry[1].usedMs < oldest[1].usedMs) oldest = entry;
    }
    if (oldest === undefined) return false;
    this.end(oldest[0]);
    return true;
  }

  /** Ends all lists. */
  endAll(): void {
    for (const name of Array.from(this.#lists.keys())) this.end(name);
  }

  /** Ends all lists, and refuses further ones. */
  close(): void {
    this.#isClosed = true;
    this.endAll();
  }

  #find(name: string, query: string): OpenList<V> {
    this.#expire();
    const list = this.#lists.get(name);
    if (list?.query === query) return list;
    throw listExpired("the list was ended: after its last page, in idle time, or for a newer one");
  }

  #expire(): void {
    const now = this.#clock.monotonicMs();
    for (const [name, list] of this.#lists) {
      const idle = now - list.usedMs > this.#bounds.idleMs && list.users === 0;
      if (idle || now - list.openedMs > this.#bounds.lifeMs) this.end(name);
    }
  }

  #sweepLater(): void {
    this.#sweep ??= this.#clock.after(Math.max(100, this.#bounds.idleMs / 4), () => {
      this.#sweep = undefined;
      this.#expire();
      if (this.#lists.size > 0) this.#sweepLater();
    });
  }

  #stopSweep(): void {
    this.#sweep?.[Symbol.dispose]();
    this.#sweep = undefined;
  }
}
