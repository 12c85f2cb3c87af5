import type { Clock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { MuxError } from "../errors.ts";

/** Bounds a start: by time, and by the signal of the caller. */
export class StartupTimeout implements Disposable {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: Disposable;
  #stage: string;

  constructor(options: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly what: string;
    /** What is being waited for at first. */
    readonly stage: string;
    readonly signal: AbortSignal | undefined;
  }) {
    const { clock, timeoutMs, what, signal } = options;
    this.#stage = options.stage;
    const own = this.#controller;
    this.#timer = clock.after(timeoutMs, () => {
      const text = `${what} ${this.#stage} within ${timeoutMs} ms`;
      own.abort(new MuxError("MUX_PROCESS_START_TIMEOUT", text));
    });
    this.signal = signal === undefined ? own.signal : AbortSignal.any([own.signal, signal]);
  }

  /** What the error says was not done, from now on. */
  enter(stage: string): void {
    this.#stage = stage;
  }

  /** Gives up what waits on the signal, after the start has failed for a reason of its own. */
  abandon(): void {
    this.#controller.abort();
  }

  /** The promise, or the reason why it is not waited for any more. */
  async bound<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    // It may fail later, when the wait for it has ended.
    promise.catch(() => undefined);
    signal.throwIfAborted();
    const { promise: aborted, reject } = deferred<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}
