import { type Clock, sleep } from "@stackwright/base/clock";
import type { Chance, VirtualScheduler } from "@stackwright/core/testing";

/** What happens to one of the writes of a process. */
export interface WriteFault {
  readonly server: number;
  /** Whether it is a write of an executor of the server, in place of one of the server itself. */
  readonly ofExecutor: boolean;
  /** Counted are the writes from this moment on. */
  readonly fromMs: number;
  /** The write that it happens to, from 1 on. */
  readonly write: number;
  readonly kind:
    | "crash-before"
    | "crash-after"
    /** The answer says that the outcome is not known: nothing was written, it was, or it will be, `ms` later. */
    | "lost-none"
    | "lost-done"
    | "lost-late"
    /** Nothing was written, and the answer says so. */
    | "refused"
    /** The process stands still for so long before the write, or after it. */
    | "pause"
    | "pause-after";
  /** How long; of a crash: until the server starts again. */
  readonly ms: number;
}

/** A process of a simulation: it has a clock and a store of its own, and everything of it ends with it. */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly scheduler: VirtualScheduler;
  faults: readonly WriteFault[];
  /** Most milliseconds until a call reaches the store. */
  delayMs: number;
  /** When it last stood still, or could not reach the store. */
  disturbedAt = Number.NEGATIVE_INFINITY;
  awayUntil = 0;
  #isDead = false;
  #pausedUntil = 0;
  readonly #death = Promise.withResolvers<void>();
  readonly #counts: Map<WriteFault, number>;
  readonly #onDeath: (fault: WriteFault | undefined) => void;

  constructor(options: {
    readonly name: string;
    readonly scheduler: VirtualScheduler;
    readonly chance: Chance;
    readonly skewMs: number;
    readonly delayMs: number;
    readonly faults: readonly WriteFault[];
    /** Writes that count for a fault, also those of other processes. @default its own */
    readonly counts?: Map<WriteFault, number>;
    readonly onDeath: (fault: WriteFault | undefined) => void;
  }) {
    const { name, scheduler, chance, skewMs, delayMs, faults, counts, onDeath } = options;
    this.name = name;
    this.scheduler = scheduler;
    this.chance = chance;
    this.delayMs = delayMs;
    this.faults = faults;
    this.#counts = counts ?? new Map();
    this.#onDeath = onDeath;
    this.clock = {
      monotonicMs: () => scheduler.monotonicMs(),
      wallMs: () => scheduler.wallMs() + skewMs,
      after: (ms, task) => this.#after(ms, task),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Resolves when it has died. */
  get died(): Promise<void> {
    return this.#death.promise;
  }

  /** Resolves when it does not stand still; never once it has died. */
  async awake(): Promise<void> {
    while (!this.#isDead && this.pauseMs > 0) await sleep(this.scheduler, this.pauseMs);
    if (this.#isDead) await never();
  }

  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.scheduler.monotonicMs());
  }

  die(fault?: WriteFault): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#death.resolve();
    this.#onDeath(fault);
  }

  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.scheduler.monotonicMs() + ms);
    this.disturbedAt = this.#pausedUntil;
  }

  /** The fault of the next write, which is counted. */
  nextFault(): WriteFault | undefined {
    let found: WriteFault | undefined;
    for (const fault of this.faults) {
      if (this.scheduler.monotonicMs() < fault.fromMs) continue;
      const count = (this.#counts.get(fault) ?? 0) + 1;
      this.#counts.set(fault, count);
      if (count === fault.write) found ??= fault;
    }
    if (found !== undefined)
      this.disturbedAt = Math.max(this.disturbedAt, this.scheduler.monotonicMs());
    return found;
  }

  /** A timer that a dead process does not hear, and one that stands still hears when it goes on. */
  #after(ms: number, task: () => void): Disposable {
    let timer: Disposable;
    const ring = (): void => {
      if (this.#isDead) return;
      if (this.pauseMs > 0) timer = this.scheduler.after(this.pauseMs, ring);
      else task();
    };
    timer = this.scheduler.after(ms, ring);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }
}

/** What a dead process waits for. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
