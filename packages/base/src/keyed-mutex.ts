/**
 * Runs tasks with the same key one after the other, in the order of their calls; tasks with different keys run
 * independently. It excludes within one process only.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Number of keys with a running or waiting task; nothing is kept for other keys. */
  get size(): number {
    return this.#last.size;
  }

  /** Runs `task` when all earlier tasks of the key have settled; a failed task does not stop the next. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    let finish = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    this.#last.set(key, done);
    try {
      await before;
      return await task();
    } finally {
      finish();
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }
}
