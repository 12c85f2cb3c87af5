interface Running<Value> {
  readonly current: Promise<Value>;
  /** Begins when the current one is over: for those that asked while it was under way. */
  next: Promise<Value> | undefined;
}

/**
 * Reads that many ask for at the same time, made once for all of them. Who asks while a read is under way gets its value if that is final,
 * and otherwise the value of a read that began after the question: nothing that was written before it is missed.
 */
export class SharedReads<Value> {
  readonly #running = new Map<string, Running<Value>>();
  readonly #isFinal: (value: Value) => boolean;

  constructor(isFinal: (value: Value) => boolean) {
    this.#isFinal = isFinal;
  }

  async read(key: string, make: () => Promise<Value>): Promise<Value> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, make);
    const found = await running.current.then(
      (value) => (this.#isFinal(value) ? { value } : undefined),
      () => undefined,
    );
    if (found !== undefined) return found.value;
    running.next ??= this.#begin(key, make);
    return running.next;
  }

  async #begin(key: string, make: () => Promise<Value>): Promise<Value> {
    const running: Running<Value> = { current: make(), next: undefined };
    this.#running.set(key, running);
    try {
      return await running.current;
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }
}
