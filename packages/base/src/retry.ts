import { type Clock, sleep } from "./clock.ts";

/** How often, and after which pauses, a failed attempt is repeated. */
export interface RetryPolicy {
  /** Attempts in all, the first one included. */
  readonly maxAttempts: number;
  /** Pause before the second attempt, in milliseconds; doubles from then on. */
  readonly initialDelayMs: number;
  /** Longest pause, in milliseconds. */
  readonly maxDelayMs: number;
  /** Share of a pause that is random, from 0 to 1, so that callers who collided once separate. */
  readonly jitter: number;
}

/** What {@link retry} needs besides the task. */
export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly clock: Pick<Clock, "after">;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Whether this failure may be repeated. */
  readonly isRetryable: (error: unknown) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Pause after the failed attempt with this number, counted from 1, in milliseconds. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const { initialDelayMs, maxDelayMs, jitter } = policy;
  const pauseMs = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1));
  return pauseMs * (1 - jitter * random());
}

/**
 * Repeats `task` while it fails with an error that may be repeated, up to the policy's attempts. Every other error, and
 * the last one, is passed on; an abort during a pause rejects with the signal's reason.
 */
export async function retry<T>(
  options: RetryOptions,
  task: (attempt: number) => Promise<T>,
): Promise<T> {
  const { policy, clock, random, isRetryable, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await task(attempt);
    } catch (error) {
      if (attempt >= policy.maxAttempts || !isRetryable(error)) throw error;
      if (signal?.aborted === true) throw error;
    }
    await sleep(clock, retryDelayMs(policy, attempt, random), signal);
  }
}
