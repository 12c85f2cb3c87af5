import type { Clock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { TokenBucket } from "@stackwright/base/limiter";
import { MuxError } from "../errors.ts";

/** How many calls may run, and how often one may begin. */
export interface ProviderCallLimits {
  /** Calls that run at the same time. @default no limit */
  readonly maxConcurrent?: number;
  /** Calls that begin per second, on average. @default no limit */
  readonly callsPerSecond?: number;
  /** Calls that may begin at once after a pause. @default `callsPerSecond`, at least 1 */
  readonly burst?: number;
  /** Calls that may wait; one more is refused with `MUX_SERVER_OVERLOADED`. @default 10_000 */
  readonly maxWaiting?: number;
}

interface Waiter {
  readonly admit: () => void;
}

/**
 * Admits calls in the order of their arrival, within limits.
 *
 * State: `running` calls, a bucket of tokens that fills with time up to `burst`, and a queue. Invariant:
 * while the queue is not empty, either all places are taken (and the end of a call admits the next), or
 * the bucket is empty (and a timer is set for the moment when it holds a token again). So a waiting call
 * is always reconsidered by one of them.
 */
export class ProviderCallLimiter {
  readonly #maxConcurrent: number;
  readonly #maxWaiting: number;
  readonly #clock: Clock;
  readonly #queue = new Set<Waiter>();
  readonly #bucket: TokenBucket;
  #running = 0;
  #timer: Disposable | undefined;

  constructor(limits: ProviderCallLimits, clock: Clock) {
    const { maxConcurrent = Infinity, callsPerSecond = Infinity, maxWaiting = 10_000 } = limits;
    this.#maxConcurrent = positive("maxConcurrent", maxConcurrent);
    const perSecond = positive("callsPerSecond", callsPerSecond);
    const burst = limits.burst ?? Math.max(1, callsPerSecond);
    if (!(burst >= 1)) {
      throw new MuxError("MUX_OPTIONS_INVALID", `burst must be at least 1 and is ${burst}`);
    }
    this.#bucket = new TokenBucket({ perSecond, burst }, clock.monotonicMs());
    this.#maxWaiting = maxWaiting;
    this.#clock = clock;
  }

  /** Calls under way and calls that wait, for diagnostics. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#queue.size };
  }

  /** Runs `call` when it may begin. Rejects with the signal's reason while waiting, or overloaded. */
  async run<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.tryEnter()) await this.enter(signal);
    try {
      return await call();
    } finally {
      this.leave();
    }
  }

  /** Takes a place if there is one and no call waits. A caller that took one calls {@link leave} once. */
  tryEnter(): boolean {
    return this.#queue.size === 0 && this.#take();
  }

  /** Gives a place back. */
  leave(): void {
    this.#running -= 1;
    if (this.#queue.size > 0) this.#admit();
  }

  /** Takes a place when it is this call's turn. Rejects as {@link run} does. */
  async enter(signal: AbortSignal | undefined): Promise<void> {
    if (this.tryEnter()) return;
    if (this.#queue.size >= this.#maxWaiting) {
      throw new MuxError(
        "MUX_SERVER_OVERLOADED",
        `${this.#queue.size} calls are waiting already; lower the parallelism or raise the limits of this provider configuration`,
      );
    }
    const { promise, resolve, reject } = deferred<void>();
    const waiter: Waiter = { admit: resolve };
    const abort = () => {
      this.#queue.delete(waiter);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#queue.add(waiter);
    this.#admit();
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #admit(): void {
    for (const waiter of this.#queue) {
      if (!this.#take()) break;
      this.#queue.delete(waiter);
      waiter.admit();
    }
    if (this.#queue.size > 0 && this.#running < this.#maxConcurrent) this.#wakeWhenFilled();
  }

  /** Takes a place and a token if both are available. */
  #take(): boolean {
    if (this.#running >= this.#maxConcurrent) return false;
    if (!this.#bucket.take(this.#clock.monotonicMs())) return false;
    this.#running += 1;
    return true;
  }

  #wakeWhenFilled(): void {
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.after(this.#bucket.waitMs(this.#clock.monotonicMs()), () => {
      this.#timer = undefined;
      this.#admit();
    });
  }
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new MuxError("MUX_OPTIONS_INVALID", `${name} must be above 0 and is ${value}`);
}
