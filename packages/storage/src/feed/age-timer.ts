import type { Clock } from "@stackwright/base/clock";

/** Runs a task again and again, each time some time after the run before has ended, until it is disposed. */
export class AgeTimer implements Disposable {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #task: () => Promise<void>;
  #next: Disposable | undefined;
  #isOver = false;

  /** The first run is after `firstMs`. A task handles its own errors. */
  constructor(clock: Clock, everyMs: number, task: () => Promise<void>, firstMs = 0) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#task = task;
    this.#plan(firstMs);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#next?.[Symbol.dispose]();
  }

  #plan(delayMs: number): void {
    if (this.#isOver) return;
    this.#next = this.#clock.after(delayMs, () => {
      void this.#task().finally(() => this.#plan(this.#everyMs));
    });
  }
}
