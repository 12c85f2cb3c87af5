import type { Resource } from "../resource.ts";
import type { CallOptions } from "../types.ts";

/** A commit as the history of a store has it. */
export interface HistoryCommit {
  readonly revision: number;
  /** When it was made, in milliseconds since 1970. A commit without a time counts as made with the next one that has one. */
  readonly atMs: number | undefined;
  /**
   * Neighbours with the same text may be parts of one atomic step; those with different texts are not. So the store was
   * whole between two that differ.
   */
  readonly group: string;
  readonly operation: "upsert" | "delete";
  /** Of a delete: what was stored last. */
  readonly resource: Resource;
}

/** A stretch of the history of a store, of one point in time. */
export interface CommitPage {
  /** The line of the store: the epoch of its cursors. */
  readonly line: string;
  /** The history has every commit after this revision, up to `revision`. */
  readonly compacted: number;
  /** The last commit of the store. */
  readonly revision: number;
  /** The commits after the revision that was asked for, without holes; none where that is not in the history. */
  readonly commits: readonly HistoryCommit[];
}

/** A store that gives its history out. */
export interface CommitHistory {
  /**
   * The first commits after a revision: as many as fit into some MiB, at least one where there is one.
   *
   * `STORAGE_CORRUPT` names a commit of which the content is not what was written.
   */
  readCommits(after: number, options?: CallOptions): Promise<CommitPage>;
}
