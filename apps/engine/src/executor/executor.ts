import type { RegistryAnswer, RegistryQuery } from "../domain/registry-query.ts";
import type { IdentityToken } from "../domain/requested-identity.ts";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import type { OfferedSchema, SchemaAnswer } from "../domain/upstream-schema.ts";
import type { ExecutionJob, ExecutionResult, StoredStateContent } from "./execution-job.ts";
import type { ReadOtherStack } from "./other-stacks.ts";

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
  /** What another stack publishes. `ENGINE_INPUT_UNAVAILABLE` where the run is not allowed to read it. */
  readonly readOtherStack: ReadOtherStack;
  /** Other tokens of the run, for the audiences that the variables of its stack name. Rejects where the claim is lost. */
  identityTokens(): Promise<readonly IdentityToken[]>;
  /** What the registry of the account has. Rejects where the claim is lost. */
  readRegistry(query: RegistryQuery): Promise<RegistryAnswer>;
  /** A tool that applies the run has written a state, which is stored, encrypted. Rejects where the claim is lost. */
  recordState(content: StoredStateContent): Promise<void>;
  /** A plan has the schema of an upstream provider: asks whether the server wants it, or says where it is stored. Rejects where the claim is lost. */
  handInSchema(offered: OfferedSchema): Promise<SchemaAnswer>;
}

/**
 * Why a worker gave an execution up. `too_large`: the job does not fit into a frame; `memory`: its processes had too much; `processor`: they used too much time of it; `refused`: a
 * cluster does not execute it, and would not the next time; `removed`: something else than the worker ended it.
 */
export type LossReason =
  | "start_deadline"
  | "memory"
  | "processor"
  | "too_large"
  | "refused"
  | "removed";

/** How an execution ended. */
export type ExecutionEnd =
  | { readonly how: "result"; readonly result: ExecutionResult }
  | { readonly how: "exit"; readonly code: number }
  | { readonly how: "signal"; readonly signal: string }
  | {
      readonly how: "lost";
      readonly reason: LossReason;
      /** What is known besides. */
      readonly detail?: string;
    };

/** A step that is being executed. Disposing ends it at once. */
export interface Execution extends AsyncDisposable {
  /** Stage 1: begin nothing more, wait for what runs. Stage 2: end now. */
  stop(stage: 1 | 2): void;
  /** Never rejects. When it resolves, no process of the execution is left. */
  readonly ended: Promise<ExecutionEnd>;
}

/** An execution as its executor finds it, without the worker that started it. */
export interface FoundExecution {
  /** That of its job. */
  readonly name: string;
  /** Of this execution alone: another one may have the same name later. */
  readonly id: string;
}

/** Executes steps of runs: in this process, in one of its own, in a container, or in a pod. */
export interface Executor extends AsyncDisposable {
  readonly kind: "in-process" | "child" | "container" | "kubernetes";
  /** Whether an execution reaches the store by its job alone, with a token. */
  readonly isRemote: boolean;
  start(job: ExecutionJob, host: ExecutionHost): Execution;
  /** The executions that are there, also those of workers that died; absent where none outlives its worker. */
  list?(): Promise<readonly FoundExecution[]>;
  /** Ends an execution that was found. */
  remove?(found: FoundExecution): Promise<void>;
}
