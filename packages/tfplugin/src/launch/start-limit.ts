import type { Clock } from "@stackwright/base/clock";
import { TfpluginError } from "../errors.ts";

/** Bounds a start: by time, and by the signal of the caller. */
export class StartLimit implements Disposable {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #timer: Disposable;
  #missing: string;

  constructor(options: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly name: string;
    /** What the provider has not done yet. */
    readonly missing: string;
    readonly signal: AbortSignal | undefined;
  }) {
    const { clock, timeoutMs, name, signal } = options;
    this.#missing = options.missing;
    this.#timer = clock.after(timeoutMs, () => {
      const text = `${name} ${this.#missing} within ${timeoutMs} ms`;
      this.#own.abort(new TfpluginError("TFPLUGIN_START_TIMEOUT", text, { provider: name }));
    });
    this.signal =
      signal === undefined ? this.#own.signal : AbortSignal.any([this.#own.signal, signal]);
  }

  /** What the error says was not done, from now on. */
  waitFor(missing: string): void {
    this.#missing = missing;
  }

  /** The promise, or the reason why it is not waited for any more. */
  async bound<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    // It may fail later, when the wait for it has ended.
    promise.catch(() => undefined);
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
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
