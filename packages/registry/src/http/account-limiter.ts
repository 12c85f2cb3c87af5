import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import { RegistryError } from "../errors.ts";

/** Limits requests per account, for one instance: n instances let n times as many through. */
export class AccountLimiter {
  readonly #limiter: KeyedRateLimiter | undefined;

  constructor(limit: RateLimit | undefined, clock: Pick<Clock, "monotonicMs">) {
    this.#limiter =
      limit === undefined ? undefined : new KeyedRateLimiter(limit, () => clock.monotonicMs());
  }

  /** Throws `REGISTRY_RATE_LIMITED` with the time after which to try again. */
  take(account: string): void {
    const retryAfterMs = this.#limiter?.take(account) ?? 0;
    if (retryAfterMs === 0) return;
    throw new RegistryError("REGISTRY_RATE_LIMITED", undefined, { details: { retryAfterMs } });
  }
}
