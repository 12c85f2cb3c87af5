/** A call that several callers wait for. */
interface Call<T> {
  readonly answer: Promise<T>;
  readonly end: AbortController;
  callers: number;
}

/**
 * Calls by what they ask: who asks the same while one is open waits for its answer. Each caller gives up alone; the call ends when the last
 * one has. Nothing is kept of a call that is over.
 */
export class SharedCalls<T> {
  readonly #open = new Map<string, Call<T>>();

  /** @param begin asks; its signal aborts when no caller waits any more */
  async ask(
    key: string,
    begin: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    const call = this.#open.get(key) ?? this.#begin(key, begin);
    call.callers += 1;
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([gone.promise, call.answer]);
    } finally {
      signal.removeEventListener("abort", leave);
      call.callers -= 1;
      if (call.callers === 0) {
        this.#over(key, call);
        call.end.abort(signal.reason);
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<T>): Call<T> {
    const end = new AbortController();
    const answer = begin(end.signal);
    const call = { answer, end, callers: 0 };
    this.#open.set(key, call);
    // Its callers get what it rejects with, as long as there are any.
    answer.then(
      () => this.#over(key, call),
      () => this.#over(key, call),
    );
    return call;
  }

  /** Who asks from now on begins another call. */
  #over(key: string, call: Call<T>): void {
    if (this.#open.get(key) === call) this.#open.delete(key);
  }
}
