import type { Scheduler } from "@stackwright/storage";

/** A scheduler whose wall clock is set by a test; everything else is real. */
export interface TestScheduler extends Scheduler {
  /** Sets the wall clock; `undefined` lets it run again. */
  setWallMs(timeMs: number | undefined): void;
}

export function createTestScheduler(): TestScheduler {
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
