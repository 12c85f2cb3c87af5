import type { Scheduler } from "../scheduler.ts";

/** A scheduler whose clock stands still until it is moved. */
export interface ManualScheduler extends Scheduler {
  /**
   * Moves the clock on and runs the tasks that come due, in the order of their times. Between two of
   * them everything settles that settles without time.
   */
  advance(byMs: number): Promise<void>;
  /** Moves the clock on without running anything, as a pause of the process does. */
  skip(byMs: number): void;
}

/** A manual scheduler at monotonic time 0 and the given wall clock time. */
export function createManualScheduler(wallMs = 1_700_000_000_000): ManualScheduler {
  const tasks = new Map<number, { readonly at: number; readonly run: () => void }>();
  let now = 0;
  let ids = 0;

  const settle = async (): Promise<void> => {
    // Calls of the memory engine settle in microtasks; a turn of the event loop runs all of them.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
  const nextDue = (until: number): number | undefined => {
    let first: number | undefined;
    for (const [id, { at }] of tasks) {
      if (at <= until && (first === undefined || at < (tasks.get(first)?.at ?? 0))) first = id;
    }
    return first;
  };
  return {
    monotonicMs: () => now,
    wallMs: () => wallMs + now,
    after: (delayMs, run) => {
      ids += 1;
      const id = ids;
      tasks.set(id, { at: now + Math.max(0, delayMs), run });
      return { [Symbol.dispose]: () => void tasks.delete(id) };
    },
    advance: async (byMs) => {
      const until = now + byMs;
      await settle();
      for (let id = nextDue(until); id !== undefined; id = nextDue(until)) {
        const task = tasks.get(id);
        tasks.delete(id);
        now = Math.max(now, task?.at ?? now);
        task?.run();
        await settle();
      }
      now = Math.max(now, until);
    },
    skip: (byMs) => {
      now += byMs;
    },
  };
}
