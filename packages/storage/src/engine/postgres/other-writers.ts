/** How long after another instance's write its next one is expected. */
const WINDOW_MS = 1_000;

interface Stretch {
  readonly first: number;
  readonly last: number;
}

/**
 * Whether other instances write to the store at present, from nothing but the revisions of this instance's own writes:
 * revisions have no holes, so one that is missing between them was another's.
 */
export class OtherWriters {
  readonly #now: () => number;
  /** The revision behind the newest one up to which the owners of all are known. */
  #next: number | undefined;
  /** Answers may overtake one another: a stretch in front of which some are missing, until the next answer. */
  #ahead: Stretch | undefined;
  #seenMs = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get active(): boolean {
    return this.#now() - this.#seenMs < WINDOW_MS;
  }

  /** Notes what a transaction of this instance was given: revisions without holes. */
  wrote(first: number, last: number): void {
    const ahead = this.#ahead;
    const stretches = [{ first, last }, ...(ahead === undefined ? [] : [ahead])];
    this.#ahead = undefined;
    for (const stretch of stretches.sort((one, other) => one.first - other.first)) {
      if (stretch.first > (this.#next ?? stretch.first)) {
        if (ahead === undefined) {
          this.#ahead = stretch;
          return;
        }
        this.#seenMs = this.#now();
      }
      this.#next = Math.max(this.#next ?? 0, stretch.last + 1);
    }
  }
}
