import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";

/** What a server may differ by without a warning, in milliseconds. */
export const SKEW_WARNING_MS = 2_000;
/** What signed requests and tokens of runs do not bear any more. */
export const SKEW_ERROR_MS = 60_000;
const AGE_MS = 60_000;
const TIMEOUT_MS = 5_000;

interface StoreClockOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time of the store; undefined where it has no clock but that of this machine. */
  readonly storeMs: ((signal: AbortSignal) => Promise<number>) | undefined;
}

/**
 * Compares the clock of this server with that of its store, which all servers share. Nothing is refused for a difference: leases go by
 * renewals and monotonic clocks. Times that users see, ends of tokens and locks, and schedules go by the clock of the server.
 */
export class StoreClock {
  readonly #options: StoreClockOptions;
  #skewMs: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: StoreClockOptions) {
    this.#options = options;
  }

  /**
   * By how much this server is ahead of the store, at the least: what the call took is no difference. Undefined where both have one
   * clock, or before the store answered. Read once a minute at most.
   */
  async skewMs(): Promise<number | undefined> {
    const { clock, storeMs } = this.#options;
    if (storeMs === undefined) return undefined;
    if (clock.monotonicMs() - this.#readAtMs >= AGE_MS) {
      // While the store is away, the last value stays.
      this.#reading ??= this.#read(storeMs)
        .catch(() => undefined)
        .finally(() => {
          this.#reading = undefined;
        });
      await this.#reading;
    }
    return this.#skewMs;
  }

  async #read(storeMs: (signal: AbortSignal) => Promise<number>): Promise<void> {
    const { clock, logger } = this.#options;
    const before = clock.monotonicMs();
    const late = new AbortController();
    using _late = clock.after(TIMEOUT_MS, () => late.abort());
    const there = await storeMs(late.signal);
    const after = clock.monotonicMs();
    this.#readAtMs = after;
    const halfMs = (after - before) / 2;
    const skewMs = clock.wallMs() - halfMs - there;
    this.#skewMs = Math.sign(skewMs) * Math.max(0, Math.abs(skewMs) - halfMs);
    if (Math.abs(this.#skewMs) < SKEW_WARNING_MS) return;
    logger.warn(
      { skewMs: Math.round(this.#skewMs) },
      "the clock of this server differs from that of its store: synchronise both",
    );
  }
}
