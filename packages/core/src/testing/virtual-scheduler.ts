import type { Clock } from "@stackwright/base/clock";

/** Time that passes only when nothing else can happen; see {@link createVirtualScheduler}. */
export interface VirtualScheduler extends Clock {
  /**
   * Lets time pass until a promise settles, and gives its result. `Error` when nothing is scheduled any more and the
   * promise is still open, which is a deadlock, or when it takes more steps than allowed.
   */
  run<T>(work: Promise<T>): Promise<T>;
  /** Runs what is scheduled, in the same way, for some time. */
  pass(ms: number): Promise<void>;
}

interface VirtualSchedulerOptions {
  /** Picks among tasks that are due at the same time. @default the first that was scheduled */
  readonly pick?: (count: number) => number;
  /** @default 1,000,000 */
  readonly maxSteps?: number;
  /** @default some moment of 2023 */
  readonly wallMs?: number;
}

interface Task {
  readonly at: number;
  readonly run: () => void;
}

/**
 * A scheduler on which everything that happens follows from its options: time stands still while promises settle, then
 * jumps to the next task. What is not driven by it or by promises (files, sockets) does not belong into a simulation.
 */
export function createVirtualScheduler(options: VirtualSchedulerOptions = {}): VirtualScheduler {
  const { pick = () => 0, maxSteps = 1_000_000, wallMs = 1_700_000_000_000 } = options;
  const tasks = new Map<number, Task>();
  let now = 0;
  let ids = 0;

  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      // All that follows from promises alone has happened when the event loop turns.
      setImmediate(resolve);
    });
  const step = (until: number): boolean => {
    let at = Infinity;
    let due: number[] = [];
    for (const [id, task] of tasks) {
      if (task.at < at) {
        at = task.at;
        due = [id];
      } else if (task.at === at) due.push(id);
    }
    if (at > until) return false;
    const id = due[pick(due.length)] ?? due[0];
    const task = id === undefined ? undefined : tasks.get(id);
    if (id === undefined || task === undefined) return false;
    tasks.delete(id);
    now = Math.max(now, task.at);
    task.run();
    return true;
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
    run: async (work) => {
      let open = true;
      const watched = work.finally(() => {
        open = false;
      });
      watched.catch(() => undefined);
      for (let steps = 0; ; steps += 1) {
        await settle();
        if (!open) return watched;
        if (steps >= maxSteps) throw new Error(`not done after ${maxSteps} steps`);
        if (!step(Infinity)) throw new Error("everything waits, and nothing is scheduled");
      }
    },
    pass: async (ms) => {
      const until = now + ms;
      await settle();
      while (step(until)) await settle();
      now = Math.max(now, until);
    },
  };
}
