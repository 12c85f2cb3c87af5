import type { FormerState, StackName } from "@stackwright/core";
import type { EngineErrorCode } from "@stackwright/core/errors";
import type { RegistryQuery } from "../domain/registry-query.ts";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import type { ServerErrorCode } from "../domain/server-error.ts";
import type { OfferedSchema } from "../domain/upstream-schema.ts";
import type { ExecutionJob, ExecutionResult, StoredStateContent } from "./execution-job.ts";

/**
 * Version of what parent and child say to each other. It changes where one side says what an older other side would not take, or a job says
 * it elsewhere: an image of another release ends its step at once, and not in the middle of it.
 */
export const CHILD_PROTOCOL = 4;

/** File descriptors of the pipes in a child. */
export const CONTROL_FD = 3;
export const EVENTS_FD = 4;

/** Parent to child. */
export type ControlFrame =
  | { readonly type: "job"; readonly job: ExecutionJob }
  | { readonly type: "cancel"; readonly stage: 1 | 2 }
  | {
      readonly type: "answer";
      readonly id: number;
      readonly error?: string;
      /** Code of an error of the engine. */
      readonly code?: EngineErrorCode;
      /** Code of an error of the server. */
      readonly serverCode?: ServerErrorCode;
      /** What was asked for, where that is more than a permission. */
      readonly value?: unknown;
    };

/** Child to parent. */
export type EventFrame =
  | { readonly type: "hello"; readonly protocol: number; readonly pid: number }
  | { readonly type: "event"; readonly at: number; readonly event: RunLogEvent }
  | { readonly type: "begin-planning"; readonly id: number }
  | { readonly type: "begin-apply"; readonly id: number; readonly epoch: string }
  | { readonly type: "read-stack"; readonly id: number; readonly name: StackName | FormerState }
  | { readonly type: "identity"; readonly id: number }
  | { readonly type: "registry"; readonly id: number; readonly query: RegistryQuery }
  | { readonly type: "record-state"; readonly id: number; readonly content: StoredStateContent }
  | { readonly type: "schema"; readonly id: number; readonly offered: OfferedSchema }
  | { readonly type: "result"; readonly result: ExecutionResult };
