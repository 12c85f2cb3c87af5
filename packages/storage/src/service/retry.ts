import { isStorageError } from "../errors.ts";
import { type Scheduler, sleep } from "../scheduler.ts";

/** How a read-modify-write cycle is repeated when another writer was faster. */
export interface RetryPolicy {
  /** Most attempts. @default 5 */
  readonly attempts?: number;
  /** Pause before the second attempt. @default 50 */
  readonly minMs?: number;
  /** Longest pause. @default 1,000 */
  readonly maxMs?: number;
  /** Share of a pause that is random, so that writers who met once part. @default 0.5 */
  readonly jitter?: number;
}

/** What {@link retryOnConflict} needs besides the policy. */
export interface RetryParts {
  readonly policy: Required<RetryPolicy>;
  readonly scheduler: Scheduler;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** Fills in the defaults. */
export function resolveRetryPolicy(policy: RetryPolicy = {}): Required<RetryPolicy> {
  return { attempts: 5, minMs: 50, maxMs: 1_000, jitter: 0.5, ...policy };
}

/**
 * Repeats a cycle that fails with `STORAGE_CAS_FAILURE`, with pauses that double; every other error,
 * and the last failure, is passed on.
 */
export async function retryOnConflict<T>(
  parts: RetryParts,
  cycle: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { attempts, minMs, maxMs, jitter } = parts.policy;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await cycle();
    } catch (error) {
      if (attempt >= attempts || !isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
    }
    const pause = Math.min(maxMs, minMs * 2 ** (attempt - 1));
    await sleep(parts.scheduler, pause * (1 - jitter * parts.random()), signal);
  }
}
