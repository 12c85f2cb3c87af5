/**
 * Time as this package uses it. Durations are measured on the monotonic clock only; a simulation
 * passes in one of its own.
 */
export interface Scheduler {
  /** Milliseconds on a clock that never jumps; the origin means nothing. */
  monotonicMs(): number;
  /** Milliseconds since 1970, for timestamps in data. Nothing is decided by it. */
  wallMs(): number;
  /** Runs a task once after a delay, unless it is disposed before. */
  after(delayMs: number, task: () => void): Disposable;
}

/**
 * The scheduler of the process. Its monotonic clock is the same in all threads of the process. Its
 * timers keep the process alive.
 */
export function systemScheduler(): Scheduler {
  return {
    monotonicMs: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
    wallMs: () => Date.now(),
    after: (delayMs, task) => {
      const timer = setTimeout(task, Math.max(0, delayMs));
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}

/** Waits; rejects with the signal's reason when that aborts first. */
export function sleep(scheduler: Scheduler, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason as Error);
    };
    const timer = scheduler.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
