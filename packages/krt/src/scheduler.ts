/**
 * Everything this package takes from the world around it: time and ways to run later. Replace it to
 * test with virtual time or to fit another event loop.
 */
export interface Scheduler {
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** A number from 0 up to, not including, 1. */
  random(): number;
  /** Runs soon, before timers and input. May run at once, inside the call: delivery is then synchronous. */
  microtask(run: () => void): void;
  /** Runs after the event loop had the chance to serve timers and input. */
  macrotask(run: () => void): void;
  /** Runs after `ms` milliseconds; the returned function cancels. Must not keep the process alive. */
  delay(ms: number, run: () => void): () => void;
}

/** The scheduler of this process: microtasks, `setImmediate`, and timers that do not hold the process. */
export function createScheduler(): Scheduler {
  return {
    now: () => performance.now(),
    random: Math.random,
    microtask: (run) => queueMicrotask(run),
    macrotask: (run) => {
      setImmediate(run);
    },
    delay: (ms, run) => {
      const timer = setTimeout(run, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
