interface Waiter {
  readonly admit: () => void;
}

/**
 * A counting semaphore whose waiters give up at a deadline.
 *
 * Invariant: while a waiter is queued no slot is free. A released slot goes to the first waiter and is not free in
 * between, so no later call can take it before the waiter runs.
 */
export class ConnectionSlots {
  #free: number;
  readonly #waiting = new Set<Waiter>();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Takes a slot, which {@link release} frees, in the order of the calls. Resolves with false when none was free for
   * `waitMs` milliseconds.
   */
  async acquire(waitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(
        () => {
          this.#waiting.delete(waiter);
          resolve(false);
        },
        Math.max(1, waitMs),
      );
      const waiter: Waiter = {
        admit: () => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      this.#waiting.add(waiter);
    });
  }

  /** Passes an acquired slot on to the first waiter. */
  release(): void {
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      waiter.admit();
      return;
    }
    this.#free += 1;
  }
}
