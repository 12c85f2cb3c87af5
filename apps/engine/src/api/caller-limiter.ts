import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import { ServerError } from "../domain/server-error.ts";

/** Far above what a command, a console or a pipeline needs. */
const RATE_LIMIT: RateLimit = Object.freeze({ perSecond: 200, burst: 2_000 });

/** Bounds the requests of each caller. */
export class CallerLimiter {
  readonly #limiter: KeyedRateLimiter;

  constructor(limit: RateLimit | undefined, clock: Pick<Clock, "monotonicMs">) {
    this.#limiter = new KeyedRateLimiter(limit ?? RATE_LIMIT, () => clock.monotonicMs());
  }

  /** Counts a request; `rate_limited` for one too many. */
  take(caller: string): void {
    const retryAfterMs = this.#limiter.take(caller);
    if (retryAfterMs === 0) return;
    throw new ServerError("rate_limited", "the credential makes too many requests", {
      retryAfterMs,
    });
  }
}

/** The seconds of `Retry-After` for a refused request. */
export function retryAfterOf(error: unknown): number {
  return Math.ceil((error instanceof ServerError ? error.retryAfterMs : 1_000) / 1_000);
}
