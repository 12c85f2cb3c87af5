import type { TfeCaller } from "./caller.ts";

/** Phases of a run, as the server has them. */
export type TfeRunPhase =
  | "queued"
  | "preparing"
  | "planning"
  | "planned"
  | "policy_failed"
  | "awaiting_approval"
  | "approved"
  | "applying"
  | "applied"
  | "no_changes"
  | "partially_applied"
  | "failed"
  | "discarded"
  | "canceled"
  | "superseded"
  | "rolled_back"
  | "plan_finished";

/** What a run plans. */
export interface TfePlanCounts {
  readonly additions: number;
  readonly changes: number;
  readonly destructions: number;
  readonly imports: number;
}

/** What policies said about the plan of a run. */
export interface TfePolicyCheck {
  /** `soft_failed` may be overridden, `hard_failed` may not. */
  readonly status: "passed" | "soft_failed" | "hard_failed" | "overridden";
  /** The run waits for an override. */
  readonly isOpen: boolean;
  /** Whether the caller may give it. */
  readonly canOverride: boolean;
  /** For the terminal. */
  readonly text: string;
}

/** A run of a workspace. */
export interface TfeRun {
  readonly id: string;
  readonly workspace: string;
  readonly phase: TfeRunPhase;
  readonly mode: "normal" | "destroy" | "refresh-only";
  readonly planOnly: boolean;
  readonly savedPlan: boolean;
  readonly autoApply: boolean;
  readonly message: string;
  readonly createdAtMs: number;
  /** Whether it has a plan with changes. */
  readonly hasPlan: boolean;
  /** Whether its plan was approved. */
  readonly wasApproved: boolean;
  /** Whether a cancel was requested. */
  readonly isCanceling: boolean;
  /** The upload that it was requested with; undefined for runs that were requested elsewhere. */
  readonly upload: string | undefined;
  readonly counts: TfePlanCounts;
  /** Whether its logs can have lines for programs, and its plan can be rendered from a document. */
  readonly structuredOutput: boolean;
  /** Logs that were read before their end was written, and whose end is still to be read. @default none */
  readonly openLogs?: readonly TfeLogName[];
  /** Undefined before the plan, where no policies judge it, and in lists. */
  readonly policyCheck?: TfePolicyCheck | undefined;
}

/** A run that is requested. */
export interface NewTfeRun {
  readonly workspace: string;
  /** An upload that has arrived. */
  readonly upload: string;
  readonly mode: TfeRun["mode"];
  readonly planOnly: boolean;
  readonly savedPlan: boolean;
  /** Undefined: as the workspace says. */
  readonly autoApply: boolean | undefined;
  readonly refresh: boolean;
  readonly targets: readonly string[];
  readonly replace: readonly string[];
  /** Values of root variables, as expressions of the language. */
  readonly variables: Readonly<Record<string, string>>;
  readonly message: string;
}

/** A configuration version: announced, then uploaded. */
export interface TfeUpload {
  readonly speculative: boolean;
}

/** The text of a log from a place on. */
export interface TfeLogText {
  /** Bytes before it. */
  readonly from: number;
  readonly text: AsyncGenerator<string, boolean>;
}

/** Which log of a run. */
export type TfeLogName = "plan" | "apply";

/** The runs that the server executes for workspaces. */
export interface RunPort {
  /** Makes the id of an upload that will come. */
  announceUpload(): string;
  /** Undefined where nothing was uploaded yet. */
  upload(caller: TfeCaller, workspace: string, id: string): Promise<TfeUpload | undefined>;
  /** Stores the archive of a configuration; the same files again have no effect. */
  storeUpload(
    caller: TfeCaller,
    upload: TfeUpload & {
      readonly workspace: string;
      readonly id: string;
      /** Folder of the root module in the archive; empty for the archive itself. */
      readonly root: string;
    },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Requests a run; a repetition for the same upload is the same run. */
  create(caller: TfeCaller, run: NewTfeRun): Promise<TfeRun>;
  get(caller: TfeCaller, workspace: string, id: string): Promise<TfeRun | undefined>;
  /** The newest first. */
  list(caller: TfeCaller, workspace: string): Promise<readonly TfeRun[]>;
  approve(caller: TfeCaller, run: TfeRun, comment: string): Promise<void>;
  /** Lets the plan pass although policies forbid it. A run that is applied without a question continues with that. */
  overridePolicies(caller: TfeCaller, run: TfeRun): Promise<void>;
  discard(caller: TfeCaller, run: TfeRun, comment: string): Promise<void>;
  cancel(caller: TfeCaller, run: TfeRun, options: { readonly force: boolean }): Promise<void>;
  /**
   * The text of a log from a place at or before an offset, as far as there is some; returns whether it is complete. What was read once
   * never changes.
   */
  log(
    caller: TfeCaller,
    log: {
      readonly workspace: string;
      readonly run: string;
      readonly name: TfeLogName;
      /** Lines for programs: the caller renders them, and the plan from its document. */
      readonly structured: boolean;
      /** In bytes. */
      readonly offset: number;
    },
  ): Promise<TfeLogText>;
  /**
   * The plan of a run, without its secrets: as `terraform show -json` writes plans, or as `terraform show` renders it. Undefined where none
   * is stored.
   */
  planJson(
    caller: TfeCaller,
    run: TfeRun,
    form: "document" | "rendered",
  ): Promise<string | undefined>;
}
