import type { StackReference } from "@stackwright/core";
import type { ComparedPlans } from "../domain/compared-plans.ts";
import type { FoundDrift } from "../domain/found-drift.ts";
import type { RunModeName } from "../domain/run-modes.ts";
import type { LeftToStage } from "../domain/run-stages.ts";
import type { RunClaim } from "../queue/claim.ts";

/** A variable of which the names of variable sets decide, as several of one place have it. */
export interface ContestedVariable {
  readonly key: string;
  readonly scope: "project" | "account";
  readonly category: "terraform" | "env";
  /** Whether the sets have priority: the stack has no other value then. */
  readonly isEnforced: boolean;
  /** The set that wins. */
  readonly set: string;
  readonly others: readonly string[];
}

/** What an executor has to do. JSON, as it travels over the control pipe of a child process. */
export interface ExecutionJob {
  /** `sw-<run>-<attempt>`. */
  readonly name: string;
  readonly stack: StackReference;
  readonly run: string;
  readonly step: RunClaim["step"];
  /** Since when the step waited for a worker, in milliseconds since 1970. @default not known */
  readonly waitingSinceMs?: number;
  /**
   * Where the step continues a trace, as W3C Trace Context writes it: `parent` led to it, and `link` is where the run was requested, if
   * that is another trace. @default a trace of the run alone
   */
  readonly trace?: { readonly parent: string; readonly link?: string };
  /** How the plan is made. */
  readonly mode: "normal" | "destroy" | "refresh-only";
  /** The mode of the run, for its hooks. @default `mode`, from a server of an older release */
  readonly runMode?: RunModeName;
  /** Name of the stack: `terraform.workspace`. */
  readonly workspace: string;
  /**
   * What was decided about a Terraform state of the configuration: nothing, where its objects come from, or that the stack takes
   * no more runs, as its state was handed back or its name belongs to another stack.
   */
  readonly adoption: "none" | "recorded" | "ended";
  readonly configuration: {
    readonly digest: string;
    readonly archiveSha256: string;
    /** Folder of the root module in the archive. @default the root of the archive */
    readonly root?: string;
  };
  /** Hosts that mean the registry of the account, as addresses of modules and providers have them. @default none */
  readonly ownHosts?: readonly string[];
  /** Where modules are fetched from that the configuration does not have. @default nowhere */
  readonly modules?: {
    /** Hosts that may be asked, beside the registry of the account. */
    readonly hosts: readonly string[];
    /** The lock file of the modules that the plan was made with. */
    readonly lock?: string;
  };
  /** Whether the project may execute provisioners. */
  readonly provisioners: boolean;
  readonly targets: readonly string[];
  readonly replace: readonly string[];
  /** Objects that are imported as by import blocks; `targets` has their addresses. @default none */
  readonly imports?: readonly { readonly address: string; readonly id: string }[];
  /** The installed program that executes the step; absent: the engine does. */
  readonly tool?: JobTool;
  /** What the engine plans beside a tool, without changing anything. */
  readonly shadow?: JobShadow;
  /** The approved plan. */
  readonly planDigest?: string;
  /** Values of root variables, as texts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Values of root variables that the run was requested with, as expressions of the language. @default none */
  readonly runVariables?: Readonly<Record<string, string>>;
  /** Names of those that the run was requested with and does not have: variable sets with priority have others. @default none */
  readonly replacedValues?: readonly string[];
  /** Variables that several variable sets of one place have, of which the names decide. @default none */
  readonly contestedVariables?: readonly ContestedVariable[];
  /** Plans without reading any object. @default false */
  readonly skipRefresh?: boolean;
  /** Source addresses, or the ends of them, of providers that the project says are pure. @default none */
  readonly pureProviders?: readonly string[];
  /** Leaves to a later stage what cannot be planned yet. `before`: what the stage before it left. @default it plans all */
  readonly stage?: { readonly number: number; readonly before: readonly string[] };
  /** Whether others are planned together with the stack. @default false */
  readonly ofSet?: boolean;
  /** Says of its plan what drift it found. @default false */
  readonly findsDrift?: boolean;
  /** Environment of provider processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the sensitive ones among both, which nothing shows. */
  readonly sensitive: {
    readonly variables: readonly string[];
    readonly environment: readonly string[];
  };
  /** Commands that are executed before and after what the step does. @default none */
  readonly hooks?: readonly JobHook[];
  /** A folder of its own, with mode 0700. */
  readonly folder: string;
  /** Where providers are installed for all runs of this machine. */
  readonly providersFolder: string;
  /** Data keys of the stack, for this execution only: number and bytes in base64. */
  readonly keys: readonly { readonly number: number; readonly bytes: string }[];
  /** Where the store is, for an executor in another process. */
  readonly store?: JobStore;
}

export type HookStage = "before_plan" | "after_plan" | "before_apply" | "after_apply";

/** A command of the project or the stack: `command`, or `script`, which is empty otherwise. */
export interface JobHook {
  readonly name: string;
  readonly stage: HookStage;
  readonly command: readonly string[];
  readonly script: string;
  readonly timeoutSeconds: number;
  readonly onFailure: "fail" | "warn";
  readonly environment: Readonly<Record<string, string>>;
}

/** A tool and the state that it gets. */
export interface JobTool {
  readonly name: string;
  /** That it has to have; empty for any. */
  readonly version: string;
  /** Its plan is stored also where it changes nothing, as it is compared. @default false */
  readonly keepsPlan?: boolean;
  /** Where it is, by the configuration of the worker. */
  readonly path?: string;
  /** The present state; absent where there is none. */
  readonly state?: JobState;
}

/** A version of a state of a stack, encrypted with its keys. */
interface JobState {
  /** Of the state version. */
  readonly number: string;
  readonly contentSha256: string;
}

/** The plan of a tool that the plan of the engine is compared with. */
export interface JobShadow {
  readonly planDigest: string;
  /** The state that it was made from; absent where there was none. */
  readonly state?: JobState;
}

/** A state that is stored, as JSON: what the bytes say of themselves. */
export interface StoredStateContent {
  readonly serial: string;
  readonly lineage: string;
  readonly terraformVersion: string;
  readonly md5: string;
  readonly bytes: string;
  readonly serialOffset: string;
  readonly contentSha256: string;
}

/** What a configuration with all of its modules allows of its providers; absent where a tool read it, or it was not read. */
type ExecutedConstraints = readonly { readonly source: string; readonly versions: string }[];

/** How an execution ended. Without one of these the executor was lost, and the store says what it left. */
export type ExecutionResult =
  | {
      readonly phase: "planned";
      readonly planDigest: string;
      readonly baseRevision: string;
      readonly summary: {
        readonly create: number;
        readonly update: number;
        readonly replace: number;
        readonly delete: number;
        readonly import: number;
        readonly move: number;
        readonly forget: number;
      };
      /** The redacted plan, in the blob store. */
      readonly documentSha256: string;
      /** The plan as a view (`@stackwright/plan-view`), in the blob store. */
      readonly viewSha256: string;
      /** The redacted plan in the form of `terraform show -json`, in the blob store. */
      readonly jsonSha256?: string;
      /** The plan as terraform commands render it, in the blob store; absent where a tool made it, or a schema is not known. */
      readonly renderedSha256?: string;
      /** The lock file of the modules that were fetched; absent where none was. */
      readonly moduleLock?: string;
      /** What a check found; absent for other runs. */
      readonly drift?: FoundDrift;
      /** What a stage leaves to the next one; absent where that is nothing. */
      readonly left?: LeftToStage;
    }
  /** `planDigest` is that of a plan of a tool, which is stored also where it changes nothing. */
  | {
      readonly phase: "no_changes";
      readonly revision: string;
      readonly planDigest?: string;
      readonly providerConstraints?: ExecutedConstraints;
    }
  /** How the plan of the engine differs from that of a tool. */
  | ({ readonly phase: "compared" } & ComparedPlans)
  | {
      readonly phase: "applied" | "partially_applied" | "failed" | "canceled" | "superseded";
      readonly revision?: string;
      readonly reason?: string;
      readonly reasonCode?: string;
      readonly providerConstraints?: ExecutedConstraints;
    }
  /**
   * Something of the run is still open: the next executor recovers it. `blocked`: a recovery waits for something that users end, so that it
   * was no attempt.
   */
  | { readonly phase: "interrupted"; readonly reason: string; readonly blocked?: boolean };

/** The storage service as an executor reaches it: by a socket of its worker, or at a server. */
export interface JobStore {
  readonly address:
    | { readonly socketPath: string }
    | { readonly host: string; readonly port: number };
  readonly token: string;
  /** Encrypts; without it the connection is in the clear. `trusted` are authorities in PEM, beside those of Node where it is absent. */
  readonly tls?: { readonly trusted?: string };
}
