import { type Clock, sleep } from "@stackwright/base/clock";
import { type RetryPolicy, retryDelayMs } from "@stackwright/base/retry";
import { isStorageError } from "../errors.ts";

/** What {@link retryOnConflict} needs besides the policy. */
export interface RetryParts {
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** Fills in the defaults: 5 attempts, pauses from 50 ms to 1 s, half of each random. */
export function resolveRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  return { maxAttempts: 5, initialDelayMs: 50, maxDelayMs: 1_000, jitter: 0.5, ...policy };
}

/**
 * Repeats a read-modify-write cycle that fails with `STORAGE_CAS_FAILURE`, with pauses that double; every
 * other error, and the last failure, is passed on. An abort between two attempts rejects with the signal's
 * reason.
 */
export async function retryOnConflict<T>(
  { policy, clock, random }: RetryParts,
  cycle: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await cycle();
    } catch (error) {
      const isLast = attempt >= policy.maxAttempts;
      if (isLast || !isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
    }
    await sleep(clock, retryDelayMs(policy, attempt, random), signal);
  }
}
