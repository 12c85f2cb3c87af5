import type { RunLogEvent } from "../domain/run-log-event.ts";
import type { ExecutionJob, ExecutionResult } from "./execution-job.ts";

/** What an execution asks its worker for while it runs. */
export interface ExecutionHost {
  /**
   * Something happened; `at` is in milliseconds since 1970. An executor that can wait does so where it gets a promise: the
   * store is slower than it.
   */
  onEvent(event: RunLogEvent, at: number): Promise<void> | undefined;
  /** The run is `planning` from now on. Rejects where the claim is lost. */
  beginPlanning(): Promise<void>;
  /** The run is `applying` from now on, under the stack's fence of this epoch. Rejects where the claim is lost. */
  beginApply(epoch: bigint): Promise<void>;
}

/** Why a worker gave an execution up. `too_large`: the job does not fit into a frame; `memory`: its processes had too much. */
export type LossReason = "start_deadline" | "memory" | "too_large";

/** How an execution ended. */
export type ExecutionEnd =
  | { readonly how: "result"; readonly result: ExecutionResult }
  | { readonly how: "exit"; readonly code: number }
  | { readonly how: "signal"; readonly signal: string }
  | { readonly how: "lost"; readonly reason: LossReason };

/** A step that is being executed. Disposing ends it at once. */
export interface Execution extends AsyncDisposable {
  /** Stage 1: begin nothing more, wait for what runs. Stage 2: end now. */
  stop(stage: 1 | 2): void;
  /** Never rejects. When it resolves, no process of the execution is left. */
  readonly ended: Promise<ExecutionEnd>;
}

/** Executes steps of runs: in this process, or in one of its own. */
export interface Executor extends AsyncDisposable {
  readonly kind: "in-process" | "child";
  /** Whether an execution reaches the store by its job alone, with a token. */
  readonly isRemote: boolean;
  start(job: ExecutionJob, host: ExecutionHost): Execution;
}
