import type { Clock } from "@stackwright/base/clock";

/** A process that waits for what it is to do. */
interface WaitingChild {
  /** Whether it has ended, or could not be started. */
  readonly isOver: boolean;
  kill(): void;
}

interface SpareChildrenOptions<T extends WaitingChild> {
  readonly create: () => T;
  readonly clock: Clock;
  /** How long a child waits that nothing needs. */
  readonly waitMs: number;
  /** How long nothing is executed before a second one is started. */
  readonly quietMs: number;
}

/** As many as a run needs: one for its plan, and one for its apply. */
const QUIET_COUNT = 2;

/**
 * Children that load their code before their job is there, as loading takes longer than many a step. Each is taken once, so that no
 * child sees two executions. While steps are executed one waits, so that steps and loading share the processor as little as possible;
 * when nothing has been executed for a moment, a second one is started. Those that are not taken end.
 */
export class SpareChildren<T extends WaitingChild> implements Disposable {
  readonly #options: SpareChildrenOptions<T>;
  /** With the end of its time; the oldest one first. */
  readonly #waiting = new Map<T, Disposable>();
  #filling: Disposable | undefined;
  #isDisposed = false;

  constructor(options: SpareChildrenOptions<T>) {
    this.#options = options;
  }

  /** The child that waits longest, or a new one. Fails where none can be started, and never because no other one can wait. */
  take(): T {
    this.#fillLater(undefined);
    const child = this.#takeWaiting() ?? this.#options.create();
    this.#fill(1);
    return child;
  }

  /** Nothing is executed any more, until the next child is taken. */
  rest(): void {
    const { clock, quietMs } = this.#options;
    if (!this.#isDisposed) this.#fillLater(clock.after(quietMs, () => this.#fill(QUIET_COUNT)));
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#fillLater(undefined);
    for (const child of this.#waiting.keys()) this.#end(child);
  }

  #takeWaiting(): T | undefined {
    for (const child of this.#waiting.keys()) {
      this.#release(child);
      if (!child.isOver) return child;
    }
    return undefined;
  }

  #fillLater(filling: Disposable | undefined): void {
    this.#filling?.[Symbol.dispose]();
    this.#filling = filling;
  }

  #fill(count: number): void {
    if (this.#isDisposed) return;
    for (const child of this.#waiting.keys()) if (child.isOver) this.#release(child);
    const { create, clock, waitMs } = this.#options;
    while (this.#waiting.size < count) {
      let child: T;
      try {
        child = create();
      } catch {
        // The machine has no room for one: the next step that needs it tries again, and fails with the reason.
        return;
      }
      this.#waiting.set(
        child,
        clock.after(waitMs, () => this.#end(child)),
      );
    }
  }

  #end(child: T): void {
    this.#release(child);
    // The number of a process that ended may be that of another one.
    if (!child.isOver) child.kill();
  }

  #release(child: T): void {
    this.#waiting.get(child)?.[Symbol.dispose]();
    this.#waiting.delete(child);
  }
}
