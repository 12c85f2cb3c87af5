import { TfstateError } from "../errors.ts";

/** How long one call of a backend may take, in milliseconds. */
export const CALL_DEADLINE_MS = 5 * 60_000;

/**
 * Waits for a task until the signal of its caller aborts or the time is over. The task receives a signal for both; what does
 * not end by it is not waited for. `TFSTATE_BACKEND_UNAVAILABLE` after the deadline.
 */
export async function withDeadline<T>(
  what: string,
  { signal, ms }: { readonly signal: AbortSignal | undefined; readonly ms: number },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const over = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    over.reject(reason);
    ending.abort(reason);
  };
  const onAbort = (): void => end(signal?.reason);
  const timer = setTimeout(() => {
    const seconds = Math.ceil(ms / 1_000);
    end(
      new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${what}: no answer in ${seconds} seconds`),
    );
  }, ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([task(ending.signal), over.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
