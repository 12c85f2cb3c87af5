import type { TfeCaller } from "./caller.ts";

/** A tag of a workspace; one without a value has the empty one. */
export interface WorkspaceTag {
  readonly key: string;
  readonly value: string;
}

/** Where plans and applies of a workspace are executed. */
export type ExecutionMode = "remote" | "local";

/** What keeps commands and runs out of a workspace. */
export interface WorkspaceLock {
  readonly actor: string;
  readonly reason: string;
  readonly by: "command" | "user" | "run";
}

/** A stack as this API shows it. */
export interface TfeWorkspace {
  /** Without slashes, stable over changes of the name; a ULID is shortened where clients read it. */
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly description: string;
  readonly createdAtMs: number;
  readonly executionMode: ExecutionMode;
  /** Empty where any version is allowed. */
  readonly terraformVersion: string;
  /** Folder of the root module in what commands upload; empty for the upload itself. */
  readonly workingDirectory: string;
  readonly autoApply: boolean;
  readonly tags: readonly WorkspaceTag[];
  readonly lock: WorkspaceLock | undefined;
  /** Whether the logs of its next run can have lines for programs; undefined in lists. */
  readonly structuredOutput?: boolean | undefined;
  /** The run whose turn it is; undefined where none has one, and in lists. */
  readonly currentRun?: string | undefined;
}

/** What can be set of a workspace. */
export interface WorkspaceChange {
  readonly description?: string | undefined;
  readonly executionMode?: ExecutionMode | undefined;
  readonly terraformVersion?: string | undefined;
  readonly workingDirectory?: string | undefined;
  readonly autoApply?: boolean | undefined;
  /** Are added to those that it has; a key that it has gets the new value. */
  readonly tags?: readonly WorkspaceTag[] | undefined;
}

export interface NewWorkspace extends WorkspaceChange {
  readonly name: string;
  readonly project: string;
}

/** Workspaces and projects of the account of a caller, as far as it sees them. */
export interface WorkspacePort {
  find(caller: TfeCaller, name: string): Promise<TfeWorkspace | undefined>;
  /** By its id, or by the short form of a ULID, which {@link readShortUlid} reads. */
  get(caller: TfeCaller, id: string): Promise<TfeWorkspace | undefined>;
  /** All, sorted by name, without their locks and runs. */
  list(caller: TfeCaller): Promise<readonly TfeWorkspace[]>;
  /** Undefined where the name is taken. */
  create(caller: TfeCaller, workspace: NewWorkspace): Promise<TfeWorkspace | undefined>;
  change(caller: TfeCaller, id: string, change: WorkspaceChange): Promise<TfeWorkspace>;
  /** Removes the workspace with its state; without `force` only one without resources. */
  remove(caller: TfeCaller, id: string, options: { readonly force: boolean }): Promise<void>;
  /** Undefined where it is locked already, also by the same caller. */
  lock(caller: TfeCaller, id: string, reason: string): Promise<TfeWorkspace | undefined>;
  /** The lock that keeps the caller from unlocking; `unlocked` where nothing is locked, `done` otherwise. */
  unlock(
    caller: TfeCaller,
    id: string,
    options: { readonly force: boolean },
  ): Promise<"done" | "unlocked" | WorkspaceLock>;
  projects(caller: TfeCaller): Promise<readonly string[]>;
  /** Undefined where there is one of the name. */
  createProject(caller: TfeCaller, name: string): Promise<string | undefined>;
}
