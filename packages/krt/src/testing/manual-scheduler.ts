import type { Scheduler } from "../scheduler.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/**
 * A scheduler in which time passes only when told. Work waits until {@link ManualScheduler.run}, so that
 * a test decides what happens between a turn and its delivery, or between two slices of a turn.
 */
export class ManualScheduler implements Scheduler {
  #now = 0;
  #microtasks: (() => void)[] = [];
  #macrotasks: (() => void)[] = [];
  #timers: Timer[] = [];
  readonly #tick: number;

  /** `tickMs` is how much time each look at the clock takes: above 0, slices end without work being slow. */
  constructor(tickMs = 0) {
    this.#tick = tickMs;
  }

  now(): number {
    this.#now += this.#tick;
    return this.#now;
  }

  random(): number {
    return 0.5;
  }

  microtask(run: () => void): void {
    this.#microtasks.push(run);
  }

  macrotask(run: () => void): void {
    this.#macrotasks.push(run);
  }

  delay(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Whether anything but timers waits. */
  get isIdle(): boolean {
    return this.#microtasks.length === 0 && this.#macrotasks.length === 0;
  }

  /** Runs the microtasks that wait and those they add, then one macrotask. False: there was nothing. */
  step(): boolean {
    let ran = false;
    for (let next = this.#microtasks.shift(); next; next = this.#microtasks.shift()) {
      next();
      ran = true;
    }
    const macrotask = this.#macrotasks.shift();
    macrotask?.();
    return ran || macrotask !== undefined;
  }

  /** Runs everything that waits, and what it adds. */
  run(): void {
    while (this.step());
  }

  /** Lets time pass, running timers when they are due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    this.run();
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
      this.run();
    }
    this.#now = end;
  }
}
