import type { RfsCaller } from "./rfs-stacks-port.ts";

/** Phases of a run, as the server names them. */
export type RfsRunPhase =
  | "queued"
  | "preparing"
  | "planning"
  | "planned"
  | "awaiting_approval"
  | "approved"
  | "applying"
  | "policy_failed"
  | "plan_finished"
  | "applied"
  | "no_changes"
  | "partially_applied"
  | "failed"
  | "discarded"
  | "canceled"
  | "superseded"
  | "rolled_back";

/** A run that deploys a stack, takes a failed deployment back, or destroys the objects of a stack that is then removed. */
export interface RfsDeployment {
  readonly id: string;
  readonly phase: RfsRunPhase;
  readonly purpose: "deployment" | "rollback" | "deletion";
  readonly reason: string;
}

/** A stack with the run that says how it is. */
export interface RfsStack {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly description: string;
  readonly deletionProtection: boolean;
  /** A deployment that fails is taken back. */
  readonly autoRollback: boolean;
  readonly createdAtMs: number;
  /** 0 where nothing changed since then. */
  readonly updatedAtMs: number;
  /** The newest run that changes it; undefined before the first. */
  readonly deployment: RfsDeployment | undefined;
}

/** A configuration with values of its root variables. */
export interface RfsConfiguration {
  /** By path. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** By name, each an expression of the language. */
  readonly variables: ReadonlyMap<string, string>;
  /** Objects that exist already are imported. */
  readonly hasImports: boolean;
}

export interface NewRfsStack {
  readonly name: string;
  readonly description: string;
  readonly deletionProtection: boolean;
  readonly autoRollback: boolean;
}

export interface RfsStackChange {
  readonly description?: string | undefined;
  readonly deletionProtection?: boolean | undefined;
  readonly autoRollback?: boolean | undefined;
}

/** An event of a deployment. */
export interface RfsEvent {
  readonly deployment: string;
  readonly atMs: number;
  readonly type: string;
  readonly message: string;
  readonly elapsedMs?: number | undefined;
  readonly resource?:
    | {
        readonly type: string;
        readonly name: string;
        /** Instance key, as a text; "" for none. */
        readonly key: string;
        readonly id: string;
      }
    | undefined;
}

export interface RfsOutput {
  readonly name: string;
  readonly description: string;
  /** Type as an expression of the language. */
  readonly type: string;
  /** JSON text. */
  readonly value: string;
  readonly sensitive: boolean;
}

export interface RfsResource {
  readonly type: string;
  readonly name: string;
  readonly key: string;
  readonly id: string;
  readonly status: string;
  readonly message: string;
  /** Texts; those of sensitive attributes are left out. */
  readonly attributes: readonly { readonly key: string; readonly value: string }[];
}

/** A file that a template is. */
export interface RfsTemplateFile {
  readonly fileName: string;
  readonly content: Uint8Array;
}

/** The stacks of a server. Stacks are named by project and name; the caller was checked before. */
export interface StackPort {
  /** Undefined where there is none, or where its deletion has ended. */
  find(caller: RfsCaller, project: string, name: string): Promise<RfsStack | undefined>;
  /** Names with their times, the newest first; no stack is read for it. */
  list(
    caller: RfsCaller,
    project: string,
  ): Promise<readonly { readonly name: string; readonly id: string }[]>;
  /** Undefined where the name is taken. */
  create(caller: RfsCaller, project: string, given: NewRfsStack): Promise<RfsStack | undefined>;
  change(caller: RfsCaller, stack: RfsStack, change: RfsStackChange): Promise<void>;
  /** Returns the id of the deployment; undefined while another one is in progress. */
  deploy(
    caller: RfsCaller,
    stack: RfsStack,
    configuration: RfsConfiguration,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Deploys what the last deployment was to deploy. The same. */
  deployAgain(caller: RfsCaller, stack: RfsStack): Promise<string | undefined>;
  /** Takes a deployment back whose rollback failed, another time. The same. */
  rollBackAgain(caller: RfsCaller, stack: RfsStack): Promise<string | undefined>;
  /** Destroys the objects of a stack, and removes it then. False while a run is in progress. */
  remove(caller: RfsCaller, stack: RfsStack): Promise<boolean>;
  /** Newest first, of all deployments or of one; undefined where that does not exist. */
  events(
    caller: RfsCaller,
    stack: RfsStack,
    deployment: string | undefined,
  ): Promise<readonly RfsEvent[] | undefined>;
  outputs(caller: RfsCaller, stack: RfsStack): Promise<readonly RfsOutput[]>;
  resources(caller: RfsCaller, stack: RfsStack): Promise<readonly RfsResource[]>;
  /** Id of the last finished deployment, whose template is shown. */
  templateOf(caller: RfsCaller, stack: RfsStack): Promise<string | undefined>;
  /** The template of a deployment, for an address that was signed. */
  templateFile(target: {
    readonly account: string;
    readonly project: string;
    readonly stack: string;
    readonly deployment: string;
  }): Promise<RfsTemplateFile | undefined>;
}
