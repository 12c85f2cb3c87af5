import { StorageError } from "../errors.ts";

/** How long a lease lasts and how often it is renewed. The same on all workers of a store. */
export interface LeaseTiming {
  /**
   * How long another worker has to see no renewal before it may steal. @default 15,000
   */
  readonly ttlMs?: number;
  /** Pause between the starts of two renewals. @default a third of the time to live */
  readonly renewMs?: number;
  /**
   * How long after the start of its last successful renewal a holder gives itself up. The distance
   * to `ttlMs` is what clocks that run at different speeds may be apart.
   *
   * @default two thirds of the time to live
   */
  readonly stopMs?: number;
}

/** {@link LeaseTiming} with the defaults filled in. */
export type ResolvedTiming = Required<LeaseTiming>;

/** Fills in the defaults; `STORAGE_INVALID_ARGUMENT` unless renew < stop < time to live. */
export function resolveTiming(timing: LeaseTiming = {}): ResolvedTiming {
  const ttlMs = timing.ttlMs ?? 15_000;
  const resolved = {
    ttlMs,
    renewMs: timing.renewMs ?? ttlMs / 3,
    stopMs: timing.stopMs ?? (ttlMs * 2) / 3,
  };
  if (!(resolved.renewMs > 0 && resolved.renewMs < resolved.stopMs && resolved.stopMs < ttlMs)) {
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      `a lease needs 0 < renewMs < stopMs < ttlMs, found ${resolved.renewMs}, ` +
        `${resolved.stopMs}, ${ttlMs}`,
      { details: { field: "timing" } },
    );
  }
  return resolved;
}
