import type { Clock } from "../clock.ts";

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Advances the clock and runs the tasks that become due, in the order of their times; promises settle in between. */
  advance(byMs: number): Promise<void>;
  /** Moves the clock without running a task, as a pause of the process does. */
  skip(byMs: number): void;
  /** Number of tasks that wait. */
  readonly pending: number;
}

/** A manual clock at monotonic time 0 and the given wall clock time, in milliseconds since 1970. */
export function createManualClock(wallMs = 1_700_000_000_000): ManualClock {
  const tasks = new Map<number, { readonly atMs: number; readonly run: () => void }>();
  let nowMs = 0;
  let ids = 0;
  // Promises settle in microtasks; one turn of the event loop runs all of them.
  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, 0);
    });
  const nextDue = (untilMs: number): number | undefined => {
    let first: number | undefined;
    for (const [id, { atMs }] of tasks) {
      if (atMs > untilMs) continue;
      if (first === undefined || atMs < (tasks.get(first)?.atMs ?? 0)) first = id;
    }
    return first;
  };
  return {
    monotonicMs: () => nowMs,
    wallMs: () => wallMs + nowMs,
    after: (delayMs, run) => {
      ids += 1;
      const id = ids;
      tasks.set(id, { atMs: nowMs + Math.max(0, delayMs), run });
      return { [Symbol.dispose]: () => void tasks.delete(id) };
    },
    advance: async (byMs) => {
      const untilMs = nowMs + byMs;
      await settle();
      for (let id = nextDue(untilMs); id !== undefined; id = nextDue(untilMs)) {
        const task = tasks.get(id);
        tasks.delete(id);
        nowMs = Math.max(nowMs, task?.atMs ?? nowMs);
        task?.run();
        await settle();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
    skip: (byMs) => {
      nowMs += byMs;
    },
    get pending() {
      return tasks.size;
    },
  };
}
