import type { StorageErrorCode } from "../../errors.ts";

// What happened in a run, as the checkers take it. All times are positions in one order: every
// start and end of a call and every received event has its own. A resource is known by its key; what
// is stored by the version that the store gave it, and by its token, a text that the writer chose
// and that no other write has, so that a write whose answer was lost can be recognised later.

/** A position in the order of everything that the recorder saw. */
export type Moment = number;

/** A part of a write call: one key. */
export type WriteStepRecord =
  | {
      readonly kind: "write";
      readonly key: string;
      readonly uid: string;
      /** The expected version, empty for a creation. */
      readonly expected: string;
      readonly token: string;
    }
  | {
      readonly kind: "delete";
      readonly key: string;
      readonly uid: string;
      readonly expected: string;
    };

/** A condition that the call gave. */
export interface GuardRecord {
  readonly key: string;
  readonly version: string;
}

/** How a call that may change something ended. */
export type WriteResult =
  /** Acknowledged; one version per step, `undefined` for deletes. */
  | { readonly kind: "ok"; readonly versions: readonly (string | undefined)[] }
  /** Refused, which says something about the step at `index`, or about the guards. */
  | { readonly kind: "refused"; readonly code: StorageErrorCode; readonly index: number }
  /** Certainly without effect, and without saying anything about what is stored. */
  | { readonly kind: "nothing" }
  /** The answer was lost: it may have happened, or happen at any later moment. */
  | { readonly kind: "unknown" };

/** A write, delete or batch. */
export interface WriteCall {
  readonly instance: number;
  readonly steps: readonly WriteStepRecord[];
  readonly guards: readonly GuardRecord[];
  readonly start: Moment;
  /** Infinite when the answer was lost. */
  readonly end: Moment;
  readonly result: WriteResult;
}

/** What was seen of a stored resource. */
export interface Sighting {
  readonly uid: string;
  readonly version: string;
  readonly token: string;
}

/** A read that was answered; what it found, or nothing. */
export interface ReadCall {
  readonly instance: number;
  readonly key: string;
  readonly mode: "eventual" | "strong";
  readonly start: Moment;
  readonly end: Moment;
  readonly found: Sighting | undefined;
}

/** A received event. */
export interface EventRecord {
  readonly at: Moment;
  readonly operation: "upsert" | "delete";
  readonly key: string;
  readonly seen: Sighting;
}

/** One watch from its opening to its end. */
export interface WatchRecord {
  readonly instance: number;
  readonly prefix: string;
  /**
   * When its snapshot was certainly complete. What began later has to be among the deltas. A resumed
   * watch has the moment of the first one.
   */
  readonly established: Moment;
  readonly snapshot: readonly EventRecord[];
  readonly deltas: readonly EventRecord[];
  /** Position in the list of watches of the one that this one resumed, which ended before it. */
  readonly resumes: number | undefined;
  /**
   * Whether it was read up to a marker that was written after everything else; otherwise it ended
   * early and only what it delivered counts.
   */
  readonly drained: boolean;
}

/** Everything that happened in a run. */
export interface History {
  readonly writes: readonly WriteCall[];
  readonly reads: readonly ReadCall[];
  readonly watches: readonly WatchRecord[];
}

/** Something that no correct store lets happen. */
export interface Violation {
  /** The rule that was broken. */
  readonly rule:
    | "linearizability"
    | "version-reuse"
    | "phantom-event"
    | "repeated-event"
    | "event-order"
    | "missing-event"
    | "guard"
    | "batch"
    | "monotonic-reads"
    | "gap"
    | "stored-state";
  readonly text: string;
}
