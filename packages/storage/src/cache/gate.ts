/**
 * Lets calls pass once something was done that began after they came. Those that come while it is being done share the next time, so it
 * is done at most twice at once for any number of callers.
 */
export class Gate {
  readonly #open: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(open: () => Promise<void>) {
    this.#open = open;
  }

  pass(): Promise<void> {
    if (this.#running === undefined) return this.#run();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#run();
      });
    return this.#next;
  }

  #run(): Promise<void> {
    const running = this.#open().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
