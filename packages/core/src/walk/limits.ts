import { type ProviderCallLimits } from "@stackwright/mux/router";
import type { EngineClock } from "./clock.ts";

/** How much may happen at once, and how often something may begin, under one name. */
export type CallLimit = Pick<ProviderCallLimits, "maxConcurrent" | "callsPerSecond" | "burst">;

interface Bucket {
  readonly limit: CallLimit;
  running: number;
  tokens: number;
  filledAt: number;
  timer: Disposable | undefined;
}

/**
 * Limits by name: places that are taken and given back, and token buckets that fill with time. A name without a limit
 * always has room.
 */
export class LimitTable {
  readonly #buckets = new Map<string, Bucket>();
  readonly #clock: EngineClock;

  constructor(limits: Readonly<Record<string, CallLimit>>, clock: EngineClock) {
    this.#clock = clock;
    for (const [name, limit] of Object.entries(limits)) {
      const { callsPerSecond = Infinity } = limit;
      const burst = limit.burst ?? Math.max(1, callsPerSecond);
      this.#buckets.set(name, {
        limit: { ...limit, burst },
        running: 0,
        tokens: burst,
        filledAt: clock.now(),
        timer: undefined,
      });
    }
  }

  /**
   * Takes a place under all names, or under none. Then it is the name of one that has no room; `retry` is called when
   * time alone has made room. Room that others give back is for them to tell.
   */
  take(names: readonly string[], retry: () => void): string | undefined {
    const buckets: Bucket[] = [];
    for (const name of names) {
      const bucket = this.#buckets.get(name);
      if (bucket === undefined) continue;
      if (bucket.running >= (bucket.limit.maxConcurrent ?? Infinity)) return name;
      this.#fill(bucket);
      // What is short of a token by rounding alone counts, or the timer would be set for it again and again.
      if (bucket.tokens < 1 - 1e-9) {
        this.#wake(bucket, retry);
        return name;
      }
      buckets.push(bucket);
    }
    for (const bucket of buckets) {
      bucket.running += 1;
      bucket.tokens = Math.max(0, bucket.tokens - 1);
    }
    return undefined;
  }

  give(names: readonly string[]): void {
    for (const name of names) {
      const bucket = this.#buckets.get(name);
      if (bucket !== undefined) bucket.running -= 1;
    }
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#buckets.values()) timer?.[Symbol.dispose]();
  }

  #fill(bucket: Bucket): void {
    const { callsPerSecond = Infinity, burst = 1 } = bucket.limit;
    const now = this.#clock.now();
    bucket.tokens =
      callsPerSecond === Infinity
        ? burst
        : Math.min(burst, bucket.tokens + ((now - bucket.filledAt) * callsPerSecond) / 1000);
    bucket.filledAt = now;
  }

  #wake(bucket: Bucket, retry: () => void): void {
    if (bucket.timer !== undefined) return;
    const perMs = (bucket.limit.callsPerSecond ?? Infinity) / 1000;
    const delayMs = Math.max(1, Math.ceil((1 - bucket.tokens) / perMs));
    bucket.timer = this.#clock.schedule(() => {
      bucket.timer = undefined;
      retry();
    }, delayMs);
  }
}
