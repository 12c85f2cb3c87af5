import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  type ClockStanding,
  type ServerClock,
  SKEW_ERROR_MS,
  SKEW_WARNING_MS,
} from "./server-clock.ts";

const AGE_MS = 60_000;
const TIMEOUT_MS = 5_000;

interface StoreClockOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time of the store; undefined where it has no clock but that of this machine. */
  readonly storeMs: ((signal: AbortSignal) => Promise<number>) | undefined;
}

/**
 * Compares the clock of this server with that of its store, which all servers share. No request is refused for a difference: leases go by
 * renewals and monotonic clocks. Times that users see, and ends of tokens and locks, go by the clock of the server. What a server with a wrong
 * clock would do for all, as to request the runs of schedules or to end runs that waited for too long, it leaves to others.
 */
export class StoreClock implements ServerClock {
  readonly #options: StoreClockOptions;
  #skewMs: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** How far the wall clock was ahead of the monotonic one then: a jump of it since is a difference, too. */
  #aheadMs: number | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: StoreClockOptions) {
    this.#options = options;
  }

  /**
   * By how much this server is ahead of the store, at the least: what the call took is no difference. Undefined where both have one
   * clock, or before the store answered. Read once a minute at most, and after a jump of the clock of the server.
   */
  async skewMs(): Promise<number | undefined> {
    const { clock, storeMs } = this.#options;
    if (storeMs === undefined) return undefined;
    if (clock.monotonicMs() - this.#readAtMs >= AGE_MS || this.#jumpMs() !== 0) {
      // While the store is away, the last value stays, with what the clock jumped since.
      this.#reading ??= this.#read(storeMs)
        .catch(() => undefined)
        .finally(() => {
          this.#reading = undefined;
        });
      await this.#reading;
    }
    return this.#skewMs === undefined ? undefined : this.#skewMs + this.#jumpMs();
  }

  async standing(): Promise<ClockStanding> {
    const skewMs = await this.skewMs();
    return { skewMs, isDisputed: false, mayReact: Math.abs(skewMs ?? 0) < SKEW_ERROR_MS };
  }

  /** By how much the wall clock jumped since the store was read; 0 for what is no jump. */
  #jumpMs(): number {
    const { clock } = this.#options;
    if (this.#aheadMs === undefined) return 0;
    const jumpMs = clock.wallMs() - clock.monotonicMs() - this.#aheadMs;
    return Math.abs(jumpMs) < SKEW_WARNING_MS ? 0 : jumpMs;
  }

  async #read(storeMs: (signal: AbortSignal) => Promise<number>): Promise<void> {
    const { clock, logger } = this.#options;
    const before = clock.monotonicMs();
    const late = new AbortController();
    using _late = clock.after(TIMEOUT_MS, () => late.abort());
    const there = await storeMs(late.signal);
    const after = clock.monotonicMs();
    const wallMs = clock.wallMs();
    this.#readAtMs = after;
    this.#aheadMs = wallMs - after;
    const halfMs = (after - before) / 2;
    const skewMs = wallMs - halfMs - there;
    this.#skewMs = Math.sign(skewMs) * Math.max(0, Math.abs(skewMs) - halfMs);
    if (Math.abs(this.#skewMs) < SKEW_WARNING_MS) return;
    logger.warn(
      { skewMs: Math.round(this.#skewMs) },
      "the clock of this server differs from that of its store: synchronise both",
    );
  }
}
