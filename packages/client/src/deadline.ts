import type { Clock } from "@stackwright/base/clock";
import { ClientError } from "./errors.ts";

/**
 * Runs a task with a signal that aborts with `CLIENT_TIMEOUT` after some milliseconds, or with the reason of the caller's signal.
 */
export async function withDeadline<T>(
  {
    clock,
    timeoutMs,
    signal,
  }: { clock: Clock; timeoutMs: number; signal?: AbortSignal | undefined },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () => {
    late.abort(new ClientError("CLIENT_TIMEOUT", `no answer within ${timeoutMs} ms`));
  });
  try {
    return await task(signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]));
  } finally {
    timer[Symbol.dispose]();
  }
}
