import type { Value } from "@stackwright/cty";
import type { CallOptions } from "@stackwright/storage";
import type { ApplyStatus } from "./apply-status.ts";
import type { CheckResult } from "./check-result.ts";
import type { PlanDocuments } from "./plan-documents.ts";
import type { StateChange } from "./state-change.ts";
import type { ObjectKey, StateObject } from "./state-object.ts";

/** Names a stack: account is the partition, project the namespace in the store. */
export interface StackReference {
  readonly account: string;
  readonly project: string;
  /** ULID of the stack; its name may change. */
  readonly stack: string;
}

/**
 * Where the state of a stack stands. Rises in the same atomic step as the first and as the last state write of a
 * run, so equal revisions with no run mean equal states. Revision 0: nothing was ever written.
 */
export interface StackHead {
  readonly revision: bigint;
  /** The run that is writing, or that was interrupted while it wrote; empty when the state is idle. */
  readonly run: string;
}

/** An output of a stack, as it was published. */
export interface StackOutput {
  /** JSON text of the type, as `encodeTypeJson` gives it. */
  readonly type: string;
  /** JSON text of the value. */
  readonly json: string;
  /** Encrypted at rest, and shown on explicit request only. */
  readonly sensitive: boolean;
  /** Read without its key: the text is `null`. Such an output is for display, and is never stored. */
  readonly isOmitted?: true;
}

/** What a stack took from the outputs of another one. */
export interface StackInput {
  readonly stack: StackReference;
  /** Its name in its project when it was read. */
  readonly name: string;
  /** The head revision that had published the outputs; 0 where nothing was ever published. */
  readonly revision: bigint;
  /** Names of the outputs that were there, in order. */
  readonly outputs: readonly string[];
  /**
   * What it will publish by a plan that was made from the revision, in place of what it had published: with unknown parts, sensitive ones
   * marked. Only in plans. Absent: what was published.
   */
  readonly planned?: ReadonlyMap<string, Value> | undefined;
}

/** The whole recorded state of a stack. */
export interface StackSnapshot {
  readonly head: StackHead;
  /** By `objectKey`. */
  readonly objects: ReadonlyMap<string, StateObject>;
  readonly outputs: ReadonlyMap<string, StackOutput>;
  /** What came of conditions in the run that published the outputs. */
  readonly checks?: readonly CheckResult[];
  /** Outputs of other stacks that the state was made with. */
  readonly inputs?: readonly StackInput[];
  /** Fence epoch at the time; 0 when the stack was never locked. */
  readonly epoch: bigint;
}

/** One finished piece of a stack's history. */
export interface RevisionEntry {
  /** The head revision with which the run ended. */
  readonly revision: bigint;
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly finishedAtMs: number;
  /** Objects that the run wrote. */
  readonly changed: number;
  /** False when the run was interrupted and finished by another, which could not determine all its changes. */
  readonly complete: boolean;
  /** How an apply ended. Absent for other writes, where another run finished it, and in entries of release 0.1.0. */
  readonly status?: ApplyStatus | undefined;
}

/** What one run did to one object. Both absent: it came and went within the run. */
export interface RevisionChange {
  readonly address: string;
  readonly deposed: string;
  readonly before?: StateObject;
  readonly after?: StateObject;
}

/** A plan as it was stored. */
export interface StoredPlan {
  /** SHA-256 of the bytes in hexadecimal: what is approved. */
  readonly digest: string;
  /** The idle state that it was created from. */
  readonly baseRevision: bigint;
  readonly createdAtMs: number;
  readonly bytes: Uint8Array;
  /** The plan without secrets, where that is kept. */
  readonly documents?: PlanDocuments;
}

/**
 * The state of one stack, for reading, and the way to write it.
 *
 * All methods reject with `StorageError` when the store cannot answer, with `ENGINE_STATE_CORRUPT` when what is
 * stored cannot be understood, and with `ENGINE_KEY_UNAVAILABLE` when secrets are stored that cannot be decrypted.
 */
export interface StackState {
  readonly reference: StackReference;

  head(options?: CallOptions): Promise<StackHead>;

  /**
   * Everything at one revision. While no run writes (`head.run` is empty) it is exactly the state of that revision.
   * While one does, or did when it was interrupted, it is not a consistent snapshot: each object is as it was at some
   * moment of the read. Strong: it reflects every write acknowledged before the call.
   */
  read(options?: CallOptions): Promise<StackSnapshot>;

  /** One object, without the others; undefined where there is none. */
  object(key: ObjectKey, options?: CallOptions): Promise<StateObject | undefined>;

  /** Only the published outputs, and the revision they belong to. */
  outputs(options?: CallOptions): Promise<Pick<StackSnapshot, "head" | "outputs">>;

  /** Finished runs, the newest first. */
  history(options?: CallOptions & { readonly limit?: number }): Promise<readonly RevisionEntry[]>;
  /** What the run that ended with this revision did; `undefined` when it is not (or no longer) recorded. */
  changes(revision: bigint, options?: CallOptions): Promise<readonly RevisionChange[] | undefined>;

  /**
   * Stores a plan, immutable and encrypted, under the digest of its bytes. Storing the same bytes again is harmless. Where the plan is
   * kept without secrets becomes known with the first time alone.
   */
  storePlan(
    plan: Pick<StoredPlan, "baseRevision" | "bytes" | "documents">,
    options?: CallOptions,
  ): Promise<StoredPlan>;
  /** `undefined` when there is no such plan; `ENGINE_STATE_CORRUPT` when its bytes are not what was stored. */
  plan(digest: string, options?: CallOptions): Promise<StoredPlan | undefined>;

  /** Takes the fence of the stack; waits until it is free or its holder shows no life. */
  acquire(options?: CallOptions): Promise<StackLock>;
  /** The same without waiting; `undefined` when another worker holds the stack. */
  tryAcquire(options?: CallOptions): Promise<StackLock | undefined>;
}

/** The right to write one stack. One holder at a time; disposing releases. */
export interface StackLock extends AsyncDisposable {
  /** Rises with every acquisition. Handed to providers with each operation. */
  readonly epoch: bigint;
  /** Aborts when the hold is lost: stop provider calls and write nothing more. */
  readonly signal: AbortSignal;
  /** Whether the holder may still count on it, by the clock and without asking the store. */
  isHeld(): boolean;

  /**
   * Begins the writing part of a run, or continues it after an interruption. Reads the whole state and checks the
   * invariants of all of it. Writes nothing: a run without state writes leaves no trace in the head.
   *
   * `base` is the revision that the run's plan was made from. `ENGINE_PLAN_STALE` unless the state is idle at that
   * revision, or the head is this very run's, which rose from it. Without `base` (recovery) the run continues from the
   * revision that it finds. `ENGINE_STATE_INVARIANT` lists what is wrong with the recorded state.
   */
  begin(request: BeginRun, options?: CallOptions): Promise<StateWriter>;

  /** Gives the stack back. */
  release(): Promise<void>;
}

export interface BeginRun {
  /** ULID of the run. */
  readonly run: string;
  readonly base?: bigint;
}

/**
 * Writes the state of one run, step by step.
 *
 * - A step is durable when its promise resolves; then, and not before, `objects` shows it.
 * - Steps on different objects may be written at the same time; steps on one object are written in the order of
 *   the calls.
 * - Every write is conditional on the fence: after the fence is lost each one fails with `ENGINE_FENCE_LOST` and
 *   changes nothing, even if this process still believes to hold it.
 * - Every step is checked first: `ENGINE_STATE_TRANSITION` when the object is not in a phase that the change allows,
 *   `ENGINE_STATE_INVARIANT` when the result would break a rule. Nothing is written then.
 * - A lost answer is resolved by reading and, if need be, writing again; a step never happens twice.
 */
export interface StateWriter {
  readonly run: string;
  readonly epoch: bigint;
  /** Whether this run had written before, under this or an earlier hold. */
  readonly resumed: boolean;
  /** Aborts when no further write can succeed. */
  readonly signal: AbortSignal;
  /** Current view: the state at `begin` and every acknowledged step since. By `objectKey`. */
  readonly objects: ReadonlyMap<string, StateObject>;
  /** As they are published; `finish` changes them. */
  readonly outputs: ReadonlyMap<string, StackOutput>;
  /** Outputs of other stacks that the recorded state was made with. */
  readonly inputs: readonly StackInput[];
  /** As it is stored: open for this run after its first write. */
  readonly head: StackHead;

  /** The object under an address, the current one unless a deposed key is given. */
  object(address: string, deposed?: string): StateObject | undefined;
  /** The deposed objects of an address, by deposed key. */
  deposed(address: string): readonly StateObject[];
  /** A deposed key that no object of the address has. */
  unusedDeposedKey(address: string): string;

  /** Writes one step; resolves with the objects as they are stored now (none where nothing is left). */
  write(change: StateChange, options?: CallOptions): Promise<readonly StateObject[]>;

  /**
   * Ends the writing part: checks the invariants of the whole state, publishes outputs (those not given stay when
   * `outputs` is absent, else go), closes the head and appends to the history. Waits for steps in progress. Later steps
   * fail. Pending operations must have been recovered: `ENGINE_STATE_INVARIANT` otherwise. Repeatable after an error.
   */
  finish(result?: FinishRun, options?: CallOptions): Promise<StackHead>;
}

export interface FinishRun {
  readonly outputs?: ReadonlyMap<string, StackOutput>;
  /** What came of conditions; those that are recorded stay where it is absent. */
  readonly checks?: readonly CheckResult[];
  /** Outputs of other stacks that the state was made with; those that are recorded stay where it is absent. */
  readonly inputs?: readonly StackInput[];
  /** How an apply ends, for its entry in the history. @default it is no apply */
  readonly status?: ApplyStatus;
}
