/**
 * Time as a package uses it. Durations are measured on the monotonic scale only; tests and simulations pass in a clock
 * of their own.
 */
export interface Clock {
  /** Milliseconds on a scale that never jumps. Only differences have a meaning. */
  monotonicMs(): number;
  /** Milliseconds since 1970, for timestamps in data. Never used to measure a duration. */
  wallMs(): number;
  /** Runs `task` once, `delayMs` milliseconds later (at once where that is negative). Disposing the result cancels it. */
  after(delayMs: number, task: () => void): Disposable;
}

// `performance` counts from an origin of each thread, which is a wall clock time: threads that began before and after
// the wall clock was set would disagree. The counter of Node is one for the process; a browser has no other scale. It
// is read at each call, so that fake timers of a test replace it.
const monotonicMs =
  globalThis.process?.hrtime === undefined
    ? () => performance.timeOrigin + performance.now()
    : () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** The clock of the process. Its monotonic scale is the same in all threads; its timers keep the process alive. */
export const systemClock: Clock = Object.freeze({
  monotonicMs,
  wallMs: () => Date.now(),
  after: (delayMs: number, task: () => void) => {
    const timer = setTimeout(task, Math.max(0, delayMs));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
});

/** Resolves after `delayMs` milliseconds. Rejects with the signal's reason when that aborts first. */
export function sleep(
  clock: Pick<Clock, "after">,
  delayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const abort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason as Error);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
