import type { Clock } from "@stackwright/base/clock";
import { type RetryPolicy, retry } from "@stackwright/base/retry";
import { isStorageError } from "@stackwright/storage";
import { RegistryError } from "../errors.ts";

/** Pauses are random from 0 to their length, so that writers who collided once separate. */
const COLLISIONS: RetryPolicy = {
  maxAttempts: 24,
  initialDelayMs: 4,
  maxDelayMs: 250,
  jitter: 1,
};

/**
 * Repeats a read-and-write while it collides with other writers, with growing, random pauses. A task whose
 * answer was lost is repeated too, so it has to recognize what it wrote itself.
 *
 * Rejects with `REGISTRY_CONTENTION` after 24 attempts.
 */
export async function retryCollisions<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await retry(
      { policy: COLLISIONS, clock, random: Math.random, isRetryable: isCollision, signal },
      task,
    );
  } catch (error) {
    if (!isCollision(error)) throw error;
    signal?.throwIfAborted();
    throw new RegistryError("REGISTRY_CONTENTION", undefined, { cause: error });
  }
}

/** Whether a write failed because of other writers, or its answer was lost. */
function isCollision(error: unknown): boolean {
  return (
    isStorageError(error, "STORAGE_CAS_FAILURE") ||
    isStorageError(error, "STORAGE_WRONG_UID") ||
    isStorageError(error, "STORAGE_GUARD_FAILED") ||
    (isStorageError(error, "STORAGE_INCONSISTENT") && error.details.outcome === "unknown")
  );
}
