import { RegistryError } from "../errors.ts";

/** A token bucket per account. */
export interface RateLimit {
  /** Requests per second that may go on for ever. */
  readonly perSecond: number;
  /** Requests that may come at once. */
  readonly burst: number;
}

/** Most accounts that are remembered; the longest unseen are forgotten, which gives them a full bucket. */
const MAX_KEYS = 10_000;

/** Limits requests per account, for one instance: n of them let n times as many through. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(limit: RateLimit, nowMs: () => number) {
    if (!(limit.perSecond > 0 && limit.burst >= 1)) {
      throw new RangeError("a rate limit lets at least one request through");
    }
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  /** Throws `REGISTRY_RATE_LIMITED` with the time after which to try again. */
  take(key: string): void {
    const { perSecond, burst } = this.#limit;
    const nowMs = this.#nowMs();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1000);
    this.#buckets.delete(key);
    if (this.#buckets.size >= MAX_KEYS) this.#dropOldest();
    this.#buckets.set(key, { tokens: tokens < 1 ? tokens : tokens - 1, atMs: nowMs });
    if (tokens >= 1) return;
    throw new RegistryError("REGISTRY_RATE_LIMITED", undefined, {
      details: { retryAfterMs: Math.ceil(((1 - tokens) * 1000) / perSecond) },
    });
  }

  #dropOldest(): void {
    for (const key of this.#buckets.keys()) {
      this.#buckets.delete(key);
      return;
    }
  }
}
