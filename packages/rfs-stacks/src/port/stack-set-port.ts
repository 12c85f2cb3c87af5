import type { RfsCaller } from "./rfs-stacks-port.ts";
import type { RfsTemplateFile } from "./stack-port.ts";

/** What the instances of a stack set are named by: a project of the account, which stands for the domain of the service, and a region. */
export interface RfsTarget {
  readonly project: string;
  readonly region: string;
}

/** Where an instance is in the last operation of it. */
export type RfsInstancePhase = "waiting" | "running" | "complete" | "failed" | "canceled";

/** A stack of a stack set. */
export interface RfsStackInstance extends RfsTarget {
  /** "" before the stack is made. */
  readonly stackId: string;
  readonly stackName: string;
  readonly phase: RfsInstancePhase;
  readonly message: string;
  /** Id of the last operation of it. */
  readonly operation: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** It has values of its own. */
  readonly hasOverrides: boolean;
}

/** A template that is deployed as many stacks. */
export interface RfsStackSet {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly initialStackDescription: string;
  readonly administrationAgencyName: string;
  readonly administrationAgencyUrn: string;
  readonly managedAgencyName: string;
  readonly parallelOperations: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Names of the variables that it has values of. */
  readonly variables: readonly string[];
  readonly instances: readonly RfsStackInstance[];
  /** An operation of it has not ended. */
  readonly inProgress: boolean;
}

export interface NewRfsStackSet {
  readonly name: string;
  readonly description: string;
  readonly initialStackDescription: string;
  readonly administrationAgencyName: string;
  readonly administrationAgencyUrn: string;
  readonly managedAgencyName: string;
  readonly parallelOperations: boolean;
  readonly template: RfsSetTemplate;
}

/** The members that change; undefined for those that stay. */
export type RfsStackSetChange = {
  readonly [Name in Exclude<keyof NewRfsStackSet, "name" | "template">]:
    | NewRfsStackSet[Name]
    | undefined;
};

/** A template with values of its variables, each an expression of the language. */
export interface RfsSetTemplate {
  readonly file: RfsTemplateFile;
  readonly variables: ReadonlyMap<string, string>;
}

/** A number of the instances of a region. */
export interface RfsShare {
  readonly amount: number;
  /** Of a hundred, rounded down. */
  readonly isPercent: boolean;
}

/** How an operation goes through the instances. */
export interface RfsOperationPreferences {
  /** Regions have their turn one after the other. */
  readonly isSequential: boolean;
  /** Undefined: in the order of the request. */
  readonly regionOrder: readonly string[] | undefined;
  readonly tolerance: RfsShare;
  readonly concurrency: RfsShare;
  /** As many are in progress as may be, however many failed. */
  readonly isSoft: boolean;
}

export type RfsSetAction =
  | "CREATE_STACK_INSTANCES"
  | "UPDATE_STACK_INSTANCES"
  | "DELETE_STACK_INSTANCES"
  | "DEPLOY_STACK_SET";

/** Something that is done with instances. */
export interface NewRfsSetOperation {
  readonly action: RfsSetAction;
  readonly targets: readonly RfsTarget[];
  readonly preferences: RfsOperationPreferences;
  /** Replaces that of the set. */
  readonly template?: RfsSetTemplate | undefined;
  /** Values of the targets beside those of the set, and those that become the values of the set again. */
  readonly overrides?: RfsOverrides | undefined;
}

export interface RfsOverrides {
  readonly values: ReadonlyMap<string, string>;
  readonly dropped: readonly string[];
}

/** An operation, as it is or was. */
export interface RfsSetOperation {
  readonly id: string;
  readonly action: RfsSetAction;
  readonly status:
    | "QUEUE_IN_PROGRESS"
    | "OPERATION_IN_PROGRESS"
    | "OPERATION_COMPLETE"
    | "OPERATION_FAILED";
  readonly message: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly targets: readonly RfsTarget[];
  readonly preferences: RfsOperationPreferences;
}

/** Stack sets of an account. What it does in projects, the caller was allowed to before. */
export interface StackSetPort {
  find(caller: RfsCaller, name: string): Promise<RfsStackSet | undefined>;
  /** Newest first. */
  list(caller: RfsCaller): Promise<readonly RfsStackSet[]>;
  /** Returns its id; undefined where the name is taken. */
  create(
    caller: RfsCaller,
    given: NewRfsStackSet,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** False while an operation is in progress. */
  change(caller: RfsCaller, set: RfsStackSet, change: RfsStackSetChange): Promise<boolean>;
  /** What keeps it, if anything does. */
  remove(caller: RfsCaller, set: RfsStackSet): Promise<"removed" | "busy" | "instances">;
  /** The template as the file that it is. */
  template(caller: RfsCaller, set: RfsStackSet): Promise<RfsTemplateFile>;
  /** Newest first. */
  operations(caller: RfsCaller, set: RfsStackSet): Promise<readonly RfsSetOperation[]>;
  /**
   * Begins an operation, and returns its id. `busy` while another one is in progress which it has to wait for, `many` where as many are in
   * progress as may be. Refuses targets that have come or gone meanwhile.
   */
  begin(
    caller: RfsCaller,
    set: RfsStackSet,
    given: NewRfsSetOperation,
    signal: AbortSignal,
  ): Promise<{ readonly id: string } | "busy" | "many">;
  /** For an address that was signed. */
  templateFile(target: {
    readonly account: string;
    readonly set: string;
    readonly id: string;
  }): Promise<RfsTemplateFile | undefined>;
}
