import { type Clock, sleep } from "@stackwright/base/clock";
import type { KeyedRateLimiter } from "@stackwright/base/limiter";

/** Options of {@link RateTurns}. */
interface RateTurnsOptions {
  /** How many wait at once, of all keys. @default 64 */
  readonly maxWaiting?: number;
  /** How many of one key. @default 16 */
  readonly maxOfKey?: number;
  /** How long one of them waits at most, in milliseconds. @default 10_000 */
  readonly longestMs?: number;
}

/**
 * Requests that wait for the rate of their credential instead of being refused: a command reads a long log by thousands of them, one
 * after the other, and ends where one is refused.
 */
export class RateTurns {
  readonly #limiter: Pick<KeyedRateLimiter, "take">;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #maxOfKey: number;
  readonly #longestMs: number;
  /** How many wait, by key. */
  readonly #waiting = new Map<string, number>();
  #all = 0;

  constructor(
    limiter: Pick<KeyedRateLimiter, "take">,
    clock: Clock,
    { maxWaiting = 64, maxOfKey = 16, longestMs = 10_000 }: RateTurnsOptions = {},
  ) {
    this.#limiter = limiter;
    this.#clock = clock;
    this.#maxWaiting = maxWaiting;
    this.#maxOfKey = maxOfKey;
    this.#longestMs = longestMs;
  }

  /** Resolves with 0 when it is the key's turn, or with the milliseconds after which to try again where too many wait, or for too long. */
  async take(key: string): Promise<number> {
    const first = this.#limiter.take(key);
    const own = this.#waiting.get(key) ?? 0;
    if (first === 0 || this.#all >= this.#maxWaiting || own >= this.#maxOfKey) return first;
    const until = this.#clock.monotonicMs() + this.#longestMs;
    this.#count(key, 1);
    try {
      let waitMs = first;
      while (waitMs > 0) {
        if (this.#clock.monotonicMs() + waitMs > until) return waitMs;
        await sleep(this.#clock, waitMs);
        waitMs = this.#limiter.take(key);
      }
      return 0;
    } finally {
      this.#count(key, -1);
    }
  }

  #count(key: string, by: 1 | -1): void {
    this.#all += by;
    const own = (this.#waiting.get(key) ?? 0) + by;
    if (own === 0) this.#waiting.delete(key);
    else this.#waiting.set(key, own);
  }
}
