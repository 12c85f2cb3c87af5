type OnAbort = (reason: unknown) => void;

/** One listener on a signal, and who is to hear of it. */
interface Watch {
  readonly waiting: Set<OnAbort>;
  readonly listener: () => void;
}

/**
 * Tells many calls that their signal has aborted by one listener on it. Calls of a run share a signal, and a listener of an
 * `AbortSignal` costs as much as the rest of a short call.
 *
 * Invariant: a signal has a listener exactly while at least one call waits for it.
 */
export class SignalWatches {
  readonly #watches = new Map<AbortSignal, Watch>();

  /** Calls `onAbort` once when `signal` aborts, until {@link remove}. The signal has not aborted yet. */
  add(signal: AbortSignal, onAbort: OnAbort): void {
    const known = this.#watches.get(signal);
    if (known !== undefined) {
      known.waiting.add(onAbort);
      return;
    }
    const waiting = new Set([onAbort]);
    const listener = (): void => {
      this.#watches.delete(signal);
      for (const call of waiting) call(signal.reason);
    };
    signal.addEventListener("abort", listener, { once: true });
    this.#watches.set(signal, { waiting, listener });
  }

  remove(signal: AbortSignal, onAbort: OnAbort): void {
    const watch = this.#watches.get(signal);
    if (watch === undefined) return;
    watch.waiting.delete(onAbort);
    if (watch.waiting.size > 0) return;
    signal.removeEventListener("abort", watch.listener);
    this.#watches.delete(signal);
  }
}
