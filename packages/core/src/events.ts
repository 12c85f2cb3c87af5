import type { Diagnostic } from "@stackwright/lang";
import type { Action } from "./plan/change.ts";

/** How the work on one object ended. */
export type StepStatus = "done" | "failed" | "tainted" | "skipped" | "unresolved" | "not-started";

/** What happens while a plan is made or applied, in the order in which it happens. */
export type RunEvent =
  /** A file was read, a provider started, a phase of the run began. */
  | { readonly type: "phase"; readonly phase: RunStage }
  | { readonly type: "provider"; readonly provider: string; readonly status: "starting" | "ready" }
  | { readonly type: "diagnostic"; readonly diagnostic: Diagnostic }
  /** An object or a data source is read. */
  | {
      readonly type: "read-start";
      readonly address: string;
      readonly deposed: string;
      /** Of the recorded object. */
      readonly id?: string;
    }
  | {
      readonly type: "read-end";
      readonly address: string;
      readonly deposed: string;
      readonly elapsedMs: number;
      /** Of what was read. */
      readonly id?: string;
    }
  /** An ephemeral resource is opened, renewed or closed. Nothing says what is in it. */
  | {
      readonly type: "ephemeral";
      readonly address: string;
      readonly step: "open" | "renew" | "close";
      readonly status: "start" | "done" | "failed";
      readonly elapsedMs: number;
    }
  /** A provisioner of an object begins or ends. */
  | {
      readonly type: "provision";
      readonly address: string;
      readonly deposed: string;
      readonly provisioner: string;
      readonly status: "start" | "done" | "failed";
      readonly elapsedMs: number;
    }
  /** One line of output of a provisioner. */
  | {
      readonly type: "provision-output";
      readonly address: string;
      readonly deposed: string;
      readonly provisioner: string;
      readonly line: string;
    }
  /** It is known what will happen to an object. */
  | {
      readonly type: "planned";
      readonly address: string;
      readonly deposed: string;
      readonly action: Action;
    }
  /** A call that changes something begins. A replacement is two of them. */
  | {
      readonly type: "start";
      readonly address: string;
      readonly deposed: string;
      readonly action: StepAction;
      readonly id?: string;
      /** Of the steps that it waited for the one that ended last: without it, it would have begun before. */
      readonly after?: StepName;
      /** How long it waited for a place after that, in whole milliseconds. Absent: it did not. */
      readonly queuedMs?: number;
    }
  | {
      readonly type: "progress";
      readonly address: string;
      readonly deposed: string;
      readonly action: StepAction;
      readonly elapsedMs: number;
    }
  | {
      readonly type: "end";
      readonly address: string;
      readonly deposed: string;
      readonly action: StepAction;
      readonly status: StepStatus;
      readonly elapsedMs: number;
      readonly id?: string;
      /** Of a skipped step: what it waited for. */
      readonly cause?: string;
    };

/** A step among those of a run. */
export interface StepName {
  readonly address: string;
  readonly deposed: string;
  readonly action: StepAction;
}

export type RunStage = "recover" | "load" | "plan" | "apply" | "finish";

/** One thing that is done to an object during apply. */
export type StepAction = "create" | "update" | "delete" | "read" | "forget" | "import" | "record";

export type RunEventHandler = (event: RunEvent) => void;
