import type { Clock } from "@stackwright/base/clock";

/** How long a command may take from the end of one log to its question for the run. */
const AWAITED_MS = 5_000;
const MAX_RUNS = 1_000;

/**
 * Runs whose plan a command has read to its end while they were applied. It asks for the run then, and of one that has failed meanwhile it
 * reads no other log: it would end without a word.
 */
export class AwaitedApplies {
  readonly #clock: Clock;
  /** When the log of the plan ended, in the order of that. */
  readonly #runs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The log of the plan was read to its end, and has nothing of the apply. */
  planRead(run: string): void {
    this.#runs.delete(run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size >= MAX_RUNS && oldest !== undefined) this.#runs.delete(oldest);
    this.#runs.set(run, this.#clock.wallMs());
  }

  /** A log with all of the apply was read to its end. */
  applyRead(run: string): void {
    this.#runs.delete(run);
  }

  /** Whether the log of the apply is still to be asked for. */
  has(run: string): boolean {
    const since = this.#runs.get(run);
    return since !== undefined && this.#clock.wallMs() - since < AWAITED_MS;
  }
}
