import { Http2ProtocolError } from "./error-codes.ts";

/** A client that opens requests only to give them up makes work for nothing. One that has so many more of those than answers is cut off. */
const MAX_ABANDONED = 10_000;
/** So many a second count no longer: a client that stays for days may give requests up now and then. */
const FORGOTTEN_PER_SECOND = 100;

/**
 * Counts the requests that a client has given up, or that were refused. The count goes down with every answer, and with time.
 *
 * Invariant: the count is at least zero, and right as of `#countedAt`.
 */
export class AbandonedRequests {
  readonly #now: () => number;
  #count = 0;
  #countedAt = 0;

  /** @param now time in ms, of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws ENHANCE_YOUR_CALM where it was one too many. */
  add(): void {
    const now = this.#now();
    const forgotten = ((now - this.#countedAt) / 1000) * FORGOTTEN_PER_SECOND;
    this.#count = Math.max(0, this.#count - forgotten) + 1;
    this.#countedAt = now;
    if (this.#count > MAX_ABANDONED) {
      throw new Http2ProtocolError("ENHANCE_YOUR_CALM", "requests are opened and given up");
    }
  }

  answered(): void {
    this.#count = Math.max(0, this.#count - 1);
  }
}
