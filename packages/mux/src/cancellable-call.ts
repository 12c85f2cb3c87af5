import type { CallContext } from "./call-context.ts";

/**
 * A call to a server while it is under way: it can be given up from outside, regardless of what the server does.
 *
 * Two things end with it: the promise that the caller waits for, at once, and the signal that the server sees. The
 * signal is made when the server reads it: for one that does not, a call costs no listener.
 */
export class CancellableCall implements Disposable {
  /** What the server is given. */
  readonly context: CallContext;
  readonly #parent: AbortSignal | undefined;
  #controller: AbortController | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #reason: { readonly value: unknown } | undefined;

  constructor({ signal, metadata, deadline }: CallContext) {
    const signalOf = () => this.#signal();
    this.context = {
      metadata,
      deadline,
      get signal() {
        return signalOf();
      },
    };
    this.#parent = signal;
    signal?.addEventListener("abort", this.#follow, { once: true });
  }

  /** Whether it was given up for this reason. */
  isReason(error: unknown): boolean {
    return this.#reason !== undefined && this.#reason.value === error;
  }

  /** Gives the call up. The first reason counts. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = { value: reason };
    this.#reject?.(reason);
    this.#controller?.abort(reason);
  }

  /** The promise, or the reason as soon as the call is given up: a server that hangs is not waited for. */
  untilGivenUp<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject;
      if (this.#reason !== undefined) reject(this.#reason.value);
      promise.then(resolve, reject);
    });
  }

  /** Takes the listener off the caller's signal, which may live for long. */
  [Symbol.dispose](): void {
    this.#parent?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.abort(this.#parent?.reason);

  #signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }
}
