/** Time as this package sees it; a test gives one that it moves by hand. */
export interface Clock {
  /** Milliseconds on a scale that never jumps; only differences mean something. */
  now(): number;
  /** Calls `callback` once, `delayMs` later; the result calls it off. */
  schedule(callback: () => void, delayMs: number): Disposable;
}

/** The monotonic clock of the process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  schedule: (callback, delayMs) => {
    const timer = setTimeout(callback, delayMs);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Resolves after the delay; rejects with the reason of the signal. */
export function delay(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const abort = () => {
      timer[Symbol.dispose]();
      reject(signal?.reason as Error);
    };
    const timer = clock.schedule(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, delayMs);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
