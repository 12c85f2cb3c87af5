import type { Clock } from "@stackwright/mux";
import { TfpluginError } from "../errors.ts";

/** A number of places, given out in the order in which they were asked for. */
export class Slots {
  readonly #limits: {
    readonly places: number;
    readonly maxWaiting: number;
    readonly waitMs: number;
  };
  readonly #clock: Clock;
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

  /** Whether somebody who asks now would have to wait. */
  get isFull(): boolean {
    return this.#used >= this.#limits.places || this.#waiting.size > 0;
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
    const late = (): void => reject(full(`none of ${places} became free within ${waitMs} ms`));
    const timer = this.#clock.schedule(late, waitMs);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting.add(resolve);
    try {
      await promise;
    } finally {
      this.#waiting.delete(resolve);
      signal?.removeEventListener("abort", abort);
      timer[Symbol.dispose]();
    }
  }

  /** Gives a place back; it goes to whoever has waited longest. */
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
