import type { Clock } from "@stackwright/base/clock";

export interface BreakerOptions {
  /** Failures in a row that open it. @default 5 */
  readonly consecutiveFailures?: number;
  /** Share of failures within the window that opens it, this share included. @default 0.5 */
  readonly failureRatio?: number;
  /** Calls within the window from which on the share counts. @default 10 */
  readonly minimumCalls?: number;
  /** In milliseconds. @default 30_000 */
  readonly windowMs?: number;
  /** How long it stays open before one call may try, in milliseconds. @default 10_000 */
  readonly openMs?: number;
}

export type BreakerState = "closed" | "open" | "half-open";

/** What a caller has to do: go ahead, try carefully first, or give up. */
type BreakerPermit = "go" | "probe" | "refused";

/** Outcomes kept for the window at most; older ones fall out. */
const MAX_KEPT = 1000;

/**
 * Keeps calls from a function that does not answer. Counts failures of the transport alone: what a provider
 * says, errors included, is an answer.
 *
 * closed -> open, with a call that fails: failures in a row, or their share in the window. open -> half-open: after a pause. half-open: one
 * probe at a time; its success closes, its failure opens again.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #options: Required<BreakerOptions>;
  readonly #recent: { readonly at: number; readonly failed: boolean }[] = [];
  #inARow = 0;
  #openedAt: number | undefined;
  #probing = false;

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#options = {
      consecutiveFailures: options.consecutiveFailures ?? 5,
      failureRatio: options.failureRatio ?? 0.5,
      minimumCalls: options.minimumCalls ?? 10,
      windowMs: options.windowMs ?? 30_000,
      openMs: options.openMs ?? 10_000,
    };
  }

  get state(): BreakerState {
    if (this.#openedAt === undefined) return "closed";
    return this.#clock.monotonicMs() - this.#openedAt < this.#options.openMs ? "open" : "half-open";
  }

  /** A caller that gets `probe` must report the result. */
  enter(): BreakerPermit {
    const { state } = this;
    if (state === "closed") return "go";
    if (state === "open" || this.#probing) return "refused";
    this.#probing = true;
    return "probe";
  }

  succeeded(): void {
    this.#probing = false;
    this.#openedAt = undefined;
    this.#inARow = 0;
    this.#keep(false);
  }

  failed(): void {
    const wasProbe = this.#probing;
    this.#probing = false;
    this.#inARow++;
    this.#keep(true);
    const failures = this.#recent.filter(({ failed }) => failed).length;
    const calls = this.#recent.length;
    const { consecutiveFailures, failureRatio, minimumCalls } = this.#options;
    const tooMany = calls >= minimumCalls && failures / calls >= failureRatio;
    if (wasProbe || this.#inARow >= consecutiveFailures || tooMany) {
      this.#openedAt = this.#clock.monotonicMs();
    }
  }

  /** A call that said nothing about the function, such as one that was aborted. */
  forgotten(): void {
    this.#probing = false;
  }

  #keep(failed: boolean): void {
    const now = this.#clock.monotonicMs();
    this.#recent.push({ at: now, failed });
    const from = now - this.#options.windowMs;
    const old = this.#recent.findIndex(({ at }) => at >= from);
    this.#recent.splice(0, Math.max(old, this.#recent.length - MAX_KEPT, 0));
  }
}
