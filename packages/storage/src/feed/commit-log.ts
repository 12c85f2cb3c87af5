import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Commit, commitBytes } from "./commit.ts";
import { type ResolvedHistory, resolveHistory } from "./history-options.ts";

/**
 * The newest commits of a store in memory, oldest first, without holes: it holds every commit after
 * `compacted`, and none before.
 */
export class CommitLog {
  readonly #bounds: ResolvedHistory;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #commits: Commit[] = [];
  /** When each of them was appended; only where there is a longest age. */
  #times: number[] = [];
  #head = 0;
  #held = 0;
  #compacted: number;

  /** Ages are measured on the monotonic scale of the clock: setting the time of day changes none. */
  constructor(
    options: Partial<ResolvedHistory> = {},
    start = 0,
    clock: Pick<Clock, "monotonicMs"> = systemClock,
  ) {
    this.#bounds = resolveHistory(options, 4_096);
    this.#clock = clock;
    this.#compacted = start;
  }

  /** Commits up to this revision are gone. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Appends a commit with a revision above all others and drops what exceeds the bounds. */
  push(commit: Commit): void {
    this.#commits.push(commit);
    this.#held += commitBytes(commit);
    const { events, bytes, maxAgeMs } = this.#bounds;
    if (maxAgeMs !== undefined) this.#times.push(this.#clock.monotonicMs());
    while (this.#commits.length - this.#head > events || this.#held > bytes) this.#dropOldest();
    this.#dropOld();
  }

  /** The commits after a revision, or `undefined` when some of them are gone. */
  since(revision: number): readonly Commit[] | undefined {
    this.#dropOld();
    if (revision < this.#compacted) return undefined;
    let low = this.#head;
    let high = this.#commits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#commits[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#commits.slice(low);
  }

  /** Drops the commits up to a revision. */
  compact(revision: number): void {
    while ((this.#commits[this.#head]?.revision ?? Number.POSITIVE_INFINITY) <= revision) {
      this.#dropOldest();
    }
    this.#compacted = Math.max(this.#compacted, revision);
  }

  /** Drops what is too old: at every use, so that nothing of it is given out, however quiet the store is. */
  #dropOld(): void {
    const { maxAgeMs } = this.#bounds;
    if (maxAgeMs === undefined) return;
    const last = this.#clock.monotonicMs() - maxAgeMs;
    while ((this.#times[this.#head] ?? Number.POSITIVE_INFINITY) < last) this.#dropOldest();
  }

  #dropOldest(): void {
    const oldest = this.#commits[this.#head];
    if (oldest === undefined) return;
    this.#head += 1;
    this.#held -= commitBytes(oldest);
    this.#compacted = oldest.revision;
    if (this.#head * 2 > this.#commits.length) {
      this.#commits = this.#commits.slice(this.#head);
      this.#times = this.#times.slice(this.#head);
      this.#head = 0;
    }
  }
}
