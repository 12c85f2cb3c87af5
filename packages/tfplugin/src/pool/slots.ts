import type { Clock } from "@stackwright/base/clock";
import { TfpluginError } from "../errors.ts";

/**
 * A number of places, given out in the order in which they were asked for. A request waits only while all
 * places are taken, and a place that becomes free passes directly to the request that waited longest: it is
 * never free in between, so a later request cannot take it.
 */
export class PoolSlots {
  readonly #limits: {
    readonly places: number;
    readonly maxWaiting: number;
    readonly waitMs: number;
  };
  readonly #clock: Clock;
  /** Requests that have neither got a place nor given up. */
  readonly #waiting = new Set<() => void>();
  #used = 0;

  constructor(
    limits: { readonly places: number; readonly maxWaiting: number; readonly waitMs: number },
    clock: Clock,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether a request that comes now has to wait. */
  get isFull(): boolean {
    return this.#used >= this.#limits.places;
  }

  /** Takes a place, perhaps after a wait. Rejects with the signal's reason or `TFPLUGIN_POOL_FULL`. */
  async take(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!this.isFull) {
      this.#used += 1;
      return;
    }
    const { places, maxWaiting, waitMs } = this.#limits;
    if (this.#waiting.size >= maxWaiting) throw full(`${this.#waiting.size} requests wait already`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Who gives up leaves the queue at once: a place that becomes free in the same moment would be lost with it.
    const giveUp = (reason: unknown): void => {
      if (this.#waiting.delete(resolve)) reject(reason);
    };
    const late = (): void => giveUp(full(`none of ${places} became free within ${waitMs} ms`));
    const timer = this.#clock.after(waitMs, late);
    const abort = (): void => giveUp(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting.add(resolve);
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      timer[Symbol.dispose]();
    }
  }

  /** Frees a place; it passes to the request that has waited longest. */
  free(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#used -= 1;
      return;
    }
    // The place stays taken, and is the next one's from here on.
    this.#waiting.delete(next);
    next();
  }
}

function full(why: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_POOL_FULL", `the pool of providers is full: ${why}`);
}
