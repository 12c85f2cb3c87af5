import type { Clock } from "@stackwright/base/clock";
import { TokenBucket } from "@stackwright/base/limiter";
import type { ProviderCallLimits } from "@stackwright/mux/router";

/** How much may happen at once, and how often something may begin, under one name. */
export type CallLimit = Pick<ProviderCallLimits, "maxConcurrent" | "callsPerSecond" | "burst">;

interface Limiter {
  readonly maxConcurrent: number;
  readonly bucket: TokenBucket;
  running: number;
  timer: Disposable | undefined;
}

/** Limits by name: semaphores and token buckets. A name without a limit always has capacity. */
export class LimiterSet {
  readonly #limiters = new Map<string, Limiter>();
  readonly #clock: Pick<Clock, "monotonicMs" | "after">;

  constructor(
    limits: Readonly<Record<string, CallLimit>>,
    clock: Pick<Clock, "monotonicMs" | "after">,
  ) {
    this.#clock = clock;
    for (const [name, limit] of Object.entries(limits)) {
      const { maxConcurrent = Infinity, callsPerSecond: perSecond = Infinity } = limit;
      const burst = limit.burst ?? Math.max(1, perSecond);
      const bucket = new TokenBucket({ perSecond, burst }, clock.monotonicMs());
      this.#limiters.set(name, { maxConcurrent, bucket, running: 0, timer: undefined });
    }
  }

  /**
   * Takes a place under all names and returns undefined, or takes none and returns a name without room. Where time alone
   * makes room, `retry` is called then. For a place that another gives back, the caller asks again itself.
   */
  take(names: readonly string[], retry: () => void): string | undefined {
    const nowMs = this.#clock.monotonicMs();
    const limiters: Limiter[] = [];
    for (const name of names) {
      const limiter = this.#limiters.get(name);
      if (limiter === undefined) continue;
      if (limiter.running >= limiter.maxConcurrent) return name;
      if (!limiter.bucket.has(nowMs)) {
        this.#wake(limiter, limiter.bucket.waitMs(nowMs), retry);
        return name;
      }
      limiters.push(limiter);
    }
    for (const limiter of limiters) {
      limiter.running += 1;
      limiter.bucket.take(nowMs);
    }
    return undefined;
  }

  give(names: readonly string[]): void {
    for (const name of names) {
      const limiter = this.#limiters.get(name);
      if (limiter !== undefined) limiter.running -= 1;
    }
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#limiters.values()) timer?.[Symbol.dispose]();
  }

  #wake(limiter: Limiter, delayMs: number, retry: () => void): void {
    limiter.timer ??= this.#clock.after(delayMs, () => {
      limiter.timer = undefined;
      retry();
    });
  }
}
