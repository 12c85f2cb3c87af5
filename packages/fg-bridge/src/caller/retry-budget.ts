import type { MethodFacts } from "../envelope/methods.ts";
import type { FgBridgeError } from "../errors.ts";

export interface RetryBudgetOptions {
  /** Attempts in all. @default 3 */
  readonly attempts?: number;
  /** Longest pause before the second attempt; doubles from then on, in milliseconds. @default 200 */
  readonly baseMs?: number;
  /** @default 5000 */
  readonly maxMs?: number;
  /** Repetitions that may be made in a row before calls have to earn new ones. @default 20 */
  readonly budget?: number;
}

/** What one call earns of a repetition. */
const EARNED = 0.1;

/**
 * When a call is repeated. A method that reads or computes may be repeated after any failure that can pass; one that
 * changes something only after a failure that proves that it was not begun.
 *
 * Repetitions come out of a budget per function, so that trouble is not multiplied when all calls fail.
 */
export class RetryBudget {
  readonly #options: Required<RetryBudgetOptions>;
  readonly #random: () => number;
  #budget: number;

  constructor(options: RetryBudgetOptions = {}, random: () => number = Math.random) {
    this.#options = {
      attempts: options.attempts ?? 3,
      baseMs: options.baseMs ?? 200,
      maxMs: options.maxMs ?? 5000,
      budget: options.budget ?? 20,
    };
    this.#random = random;
    this.#budget = this.#options.budget;
  }

  /** A call was made. */
  earn(): void {
    this.#budget = Math.min(this.#budget + EARNED, this.#options.budget);
  }

  /**
   * Pause before the next attempt, or `undefined` when there is to be none.
   *
   * @param attempt number of the attempt that failed, from 0
   */
  next(method: MethodFacts, error: FgBridgeError, attempt: number): number | undefined {
    if (!error.retryable || attempt + 1 >= this.#options.attempts) return undefined;
    if (error.outcome !== "not-applied") {
      if (!method.repeatable) return undefined;
      // A caller that waited for the whole time without an answer gains nothing from waiting for it again.
      if (error.code === "FG_TIMEOUT") return undefined;
    }
    if (this.#budget < 1) return undefined;
    this.#budget -= 1;
    const { baseMs, maxMs } = this.#options;
    return this.#random() * Math.min(maxMs, baseMs * 2 ** attempt);
  }
}
