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

/**
 * The scheduler of this process or page: microtasks, timers that do not hold the process, and `setImmediate`, or messages where there
 * is none, since timers of a page that follow each other are made to wait.
 */
export function createScheduler(): Scheduler {
  return {
    now: () => performance.now(),
    random: Math.random,
    microtask: (run) => queueMicrotask(run),
    macrotask: typeof setImmediate === "function" ? (run) => void setImmediate(run) : byMessages(),
    delay: (ms, run) => {
      // A number in a page.
      const timer = setTimeout(run, ms) as Partial<NodeJS.Timeout>;
      timer.unref?.();
      return () => clearTimeout(timer as NodeJS.Timeout);
    },
  };
}

/** One message for each run that waits: a message is a task of its own. */
function byMessages(): (run: () => void) => void {
  const waiting: (() => void)[] = [];
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener("message", () => waiting.shift()?.());
  port1.start();
  return (run) => {
    waiting.push(run);
    port2.postMessage(undefined);
  };
}
