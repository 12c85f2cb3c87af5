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
