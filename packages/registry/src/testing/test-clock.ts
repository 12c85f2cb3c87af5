import type { Clock } from "@stackwright/base/clock";

/** A clock whose wall clock is set by a test; everything else is real. */
export interface TestClock extends Clock {
  /** Sets the wall clock; `undefined` lets it run again. */
  setWallMs(timeMs: number | undefined): void;
}

export function createTestClock(): TestClock {
  let fixed: number | undefined;
  return {
    setWallMs: (timeMs) => {
      fixed = timeMs;
    },
    wallMs: () => fixed ?? Date.now(),
    monotonicMs: () => performance.now(),
    after: (delayMs, task) => {
      const timer = setTimeout(task, delayMs);
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}
