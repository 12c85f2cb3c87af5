import type { Clock } from "@stackwright/base/clock";

/** A process that waits for what it is to do. */
interface WaitingChild {
  /** Whether it has ended, or could not be started. */
  readonly isOver: boolean;
  kill(): void;
}

interface SpareChildOptions<T extends WaitingChild> {
  readonly create: () => T;
  readonly clock: Clock;
  /** How long a child waits that nothing needs. */
  readonly waitMs: number;
}

/**
 * A child that loads its code before its job is there, as loading takes longer than many a step. Each is taken once, so that no
 * child sees two executions; the next one starts when one is taken, as an apply follows its plan. One that is not taken ends.
 */
export class SpareChild<T extends WaitingChild> implements Disposable {
  readonly #options: SpareChildOptions<T>;
  #child: T | undefined;
  #waiting: Disposable | undefined;
  #isDisposed = false;

  constructor(options: SpareChildOptions<T>) {
    this.#options = options;
  }

  /** The child that waits, or a new one. Fails where none can be started, and never because no other one can wait. */
  take(): T {
    const spare = this.#release();
    const child = spare === undefined || spare.isOver ? this.#options.create() : spare;
    this.#prepare();
    return child;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#end();
  }

  #prepare(): void {
    if (this.#isDisposed) return;
    const { create, clock, waitMs } = this.#options;
    try {
      this.#child = create();
    } catch {
      // The machine has no room for one: the next step that needs it tries again, and fails with the reason.
      return;
    }
    this.#waiting = clock.after(waitMs, () => this.#end());
  }

  #end(): void {
    const child = this.#release();
    // The number of a process that ended may be that of another one.
    if (child?.isOver === false) child.kill();
  }

  #release(): T | undefined {
    const child = this.#child;
    this.#child = undefined;
    this.#waiting?.[Symbol.dispose]();
    this.#waiting = undefined;
    return child;
  }
}
