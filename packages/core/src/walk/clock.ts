import { randomBytes } from "node:crypto";

/** Time and chance as the engine sees them; tests and simulations bring their own. */
export interface EngineClock {
  /** Milliseconds on a scale that never jumps; only differences mean something. */
  now(): number;
  /** Milliseconds since 1970. */
  wallTime(): number;
  /** Calls once, later; the result calls it off. */
  schedule(callback: () => void, delayMs: number): Disposable;
  randomBytes(size: number): Uint8Array;
}

/** The clock and the randomness of the process. */
export const processClock: EngineClock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  schedule: (callback, delayMs) => {
    const timer = setTimeout(callback, delayMs);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  randomBytes: (size) => randomBytes(size),
};
