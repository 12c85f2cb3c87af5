interface Waiter {
  readonly settle: (isAdmitted: boolean) => void;
}

/** How long no further connection is asked for after the server has refused one. */
const REFUSED_MS = 1_000;

/**
 * A counting semaphore whose waiters give up at a deadline. A slot is a connection, unless the server gives none for it:
 * then there are fewer slots for a while, and the calls share the connections that are there.
 *
 * Invariants: while a waiter is queued no slot is free. A released slot goes to the first waiter and is not free in
 * between, so no later call can take it before the waiter runs. While a refused call waits another one has a slot.
 */
export class ConnectionSlots {
  readonly #now: () => number;
  #free: number;
  #held = 0;
  /** Those for which the server has given no connection. */
  #away = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #released = 0;
  /** Calls that had a slot and no connection. They came before those that wait for a slot. */
  readonly #refused = new Set<Waiter>();
  readonly #waiting = new Set<Waiter>();

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(count: number, now: () => number = () => performance.now()) {
    this.#free = count;
    this.#now = now;
  }

  /** How many calls have given their slot back. */
  get released(): number {
    return this.#released;
  }

  /**
   * Takes a slot, which {@link release} frees, in the order of the calls. Resolves with false when none was free for
   * `waitMs` milliseconds.
   */
  async acquire(waitMs: number): Promise<boolean> {
    if (this.#away > 0 && this.#now() - this.#refusedAt >= REFUSED_MS) {
      this.#refusedAt = this.#now();
      this.#away -= 1;
      this.#pass();
    }
    if (this.#free > 0) {
      this.#free -= 1;
      this.#held += 1;
      return true;
    }
    return this.#wait(this.#waiting, waitMs);
  }

  /** Passes an acquired slot on to the first waiter. */
  release(): void {
    this.#held -= 1;
    this.#released += 1;
    this.#pass();
  }

  /**
   * Gives a slot up for which the server has refused a connection, and takes that of the next call which ends. Resolves with
   * false, and without a slot, when none ended for `waitMs` milliseconds, and at once when no other call has one. `since` is
   * the number of released ones when the connection was asked for: what was released since has left a connection.
   */
  async exchange(since: number, waitMs: number): Promise<boolean> {
    if (this.#held > 1) {
      this.#refusedAt = this.#now();
      this.#held -= 1;
      this.#away += 1;
      return this.#wait(this.#refused, waitMs);
    }
    if (this.#released !== since) return true;
    this.#held = 0;
    let freed = this.#away + 1;
    this.#away = 0;
    for (const waiter of this.#refused) waiter.settle(false);
    for (; freed > 0; freed -= 1) this.#pass();
    return false;
  }

  #pass(): void {
    const [waiter] = this.#refused.size > 0 ? this.#refused : this.#waiting;
    if (waiter === undefined) {
      this.#free += 1;
      return;
    }
    this.#held += 1;
    waiter.settle(true);
  }

  async #wait(queue: Set<Waiter>, waitMs: number): Promise<boolean> {
    return new Promise<boolean>((resolve) => {
      const settle = (isAdmitted: boolean): void => {
        clearTimeout(timer);
        queue.delete(waiter);
        resolve(isAdmitted);
      };
      const timer = setTimeout(() => settle(false), Math.max(1, waitMs));
      const waiter: Waiter = { settle };
      queue.add(waiter);
    });
  }
}
