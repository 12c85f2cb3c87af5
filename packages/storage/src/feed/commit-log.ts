import { type Commit, commitBytes } from "./commit.ts";

/** How much history an engine keeps for watches that resume. */
export interface HistoryOptions {
  /** Most retained commits. @default 4096 */
  readonly events?: number;
  /** Most bytes of retained commits. @default 64 MiB */
  readonly bytes?: number;
}

/** How much history there is. */
export interface HistorySize {
  readonly events: number;
  /** Of their bodies. */
  readonly bytes: number;
}

/**
 * The newest commits of a store in memory, oldest first, without holes: it holds every commit after
 * `compacted`, and none before.
 */
export class CommitLog {
  readonly #events: number;
  readonly #bytes: number;
  #commits: Commit[] = [];
  #head = 0;
  #held = 0;
  #compacted: number;

  constructor(options: HistoryOptions = {}, start = 0) {
    this.#events = options.events ?? 4096;
    this.#bytes = options.bytes ?? 64 * 1024 * 1024;
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
    while (this.#commits.length - this.#head > this.#events || this.#held > this.#bytes) {
      this.#dropOldest();
    }
  }

  /** The commits after a revision, or `undefined` when some of them are gone. */
  since(revision: number): readonly Commit[] | undefined {
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

  #dropOldest(): void {
    const oldest = this.#commits[this.#head];
    if (oldest === undefined) return;
    this.#head += 1;
    this.#held -= commitBytes(oldest);
    this.#compacted = oldest.revision;
    if (this.#head * 2 > this.#commits.length) {
      this.#commits = this.#commits.slice(this.#head);
      this.#head = 0;
    }
  }
}
