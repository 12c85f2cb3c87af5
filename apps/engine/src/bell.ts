/** Wakes those that wait for something to happen, any number of them. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  ring(): void {
    for (const done of this.#waiting) done();
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves when the bell rings after the call, or the signal aborts. Nothing of the call is left then. */
  async rung(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }
}
