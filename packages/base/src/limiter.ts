/** A counting semaphore with FIFO waiters. The number of waiters is not bounded: the caller bounds its own work. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    if (!(places >= 1)) throw new RangeError(`a semaphore has at least 1 place, not ${places}`);
    this.#free = places;
  }

  /** Runs `work` when a place is free and releases the place when it settles. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/**
 * Runs `work` for every item, at most `limit` at once; items begin in order. Rejects with the first error; work that
 * has begun is not awaited then.
 */
export async function forEachLimited<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      await work(next.value);
    }
  };
  const workers: Promise<void>[] = [];
  for (let i = 0; i < limit; i++) workers.push(worker());
  await Promise.all(workers);
}

/** Average rate and burst of a {@link TokenBucket}. */
export interface RateLimit {
  /** Tokens per second, on average; `Infinity` for no limit. */
  readonly perSecond: number;
  /** Tokens that a full bucket holds, at least 1. */
  readonly burst: number;
}

/** A token that is short by rounding alone counts, or a timer would be set for it again and again. */
const ROUNDING = 1e-9;

/**
 * A bucket of tokens that fills with time.
 *
 * Invariant: `tokens` is the number at `filledAtMs`, between 0 and the burst. Time that runs backwards adds nothing.
 */
export class TokenBucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #filledAtMs: number;

  /** Starts full at `nowMs`, on any scale that later calls use too. */
  constructor(limit: RateLimit, nowMs: number) {
    if (!(limit.perSecond > 0)) {
      throw new RangeError(`a rate limit is above 0 per second, not ${limit.perSecond}`);
    }
    if (!(limit.burst >= 1)) throw new RangeError(`a burst is at least 1, not ${limit.burst}`);
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAtMs = nowMs;
  }

  /** Whether a token is available now; takes none. */
  has(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens >= 1 - ROUNDING;
  }

  /** Takes a token where one is available. */
  take(nowMs: number): boolean {
    if (!this.has(nowMs)) return false;
    this.#tokens = Math.max(0, this.#tokens - 1);
    return true;
  }

  /** Milliseconds until a token is available, rounded up; 0 where one is. */
  waitMs(nowMs: number): number {
    if (this.has(nowMs)) return 0;
    return Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / this.#limit.perSecond));
  }

  #fill(nowMs: number): void {
    const { perSecond, burst } = this.#limit;
    const passedMs = Math.max(0, nowMs - this.#filledAtMs);
    this.#tokens =
      perSecond === Infinity
        ? burst
        : Math.min(burst, this.#tokens + (passedMs * perSecond) / 1000);
    this.#filledAtMs = Math.max(nowMs, this.#filledAtMs);
  }
}

/** Options of a {@link KeyedRateLimiter}. */
export interface KeyedRateLimiterOptions extends RateLimit {
  /** Keys that are remembered; beyond it the key unused for longest is forgotten. @default 10_000 */
  readonly maxKeys?: number;
}

/** One token bucket per key, for one process: n processes let n times as many through. */
export class KeyedRateLimiter {
  readonly #limit: RateLimit;
  readonly #maxKeys: number;
  readonly #nowMs: () => number;
  /** In the order of last use. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor({ maxKeys = 10_000, ...limit }: KeyedRateLimiterOptions, nowMs: () => number) {
    if (!(maxKeys >= 1)) throw new RangeError(`maxKeys is at least 1, not ${maxKeys}`);
    this.#limit = limit;
    this.#maxKeys = maxKeys;
    this.#nowMs = nowMs;
    // Refuses a limit that no bucket can have, before the first request.
    void new TokenBucket(limit, 0);
  }

  /** Takes a token of the key: 0, or the milliseconds after which one is available. */
  take(key: string): number {
    const nowMs = this.#nowMs();
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#limit, nowMs);
    this.#buckets.delete(key);
    if (this.#buckets.size >= this.#maxKeys) this.#forgetOldest();
    this.#buckets.set(key, bucket);
    return bucket.take(nowMs) ? 0 : bucket.waitMs(nowMs);
  }

  /** The milliseconds after which a token of the key is available, without taking it: 0 where one is. */
  waitMs(key: string): number {
    const nowMs = this.#nowMs();
    const bucket = this.#buckets.get(key);
    return bucket === undefined || bucket.has(nowMs) ? 0 : bucket.waitMs(nowMs);
  }

  #forgetOldest(): void {
    for (const key of this.#buckets.keys()) {
      this.#buckets.delete(key);
      return;
    }
  }
}
