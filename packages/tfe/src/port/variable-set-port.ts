import type { TfeCaller } from "./caller.ts";
import type { TfeSetName, TfeVariable } from "./variable-port.ts";

/** What a set is attached to: workspaces by their ids, in requests also by the short forms of these; projects by their names. */
export interface SetPlaces {
  readonly workspaces: readonly string[];
  readonly projects: readonly string[];
}

/** A variable set, with what the caller sees of what it is attached to. */
export interface TfeVariableSet extends TfeSetName, SetPlaces {
  readonly description: string;
  /** For all workspaces of the account. */
  readonly isGlobal: boolean;
  readonly hasPriority: boolean;
  readonly updatedAtMs: number;
  readonly variables: readonly TfeVariable[];
}

/** What is changed of a set. */
export interface TfeSetChange {
  readonly description?: string | undefined;
  readonly isGlobal?: boolean | undefined;
  readonly hasPriority?: boolean | undefined;
  /** Takes the place of those that it is attached to. */
  readonly workspaces?: readonly string[] | undefined;
  readonly projects?: readonly string[] | undefined;
}

export interface NewTfeSet extends TfeSetChange {
  readonly name: string;
  /** The project whose set it is; undefined: the account's. */
  readonly project: string | undefined;
}

/** Variable sets that a caller sees. The port refuses ids of workspaces that are not those of any which the caller sees, as what is not found. */
export interface VariableSetPort {
  /** All, sorted by name. */
  names(caller: TfeCaller): Promise<readonly TfeSetName[]>;
  /** Those of which the variables are for a workspace. */
  namesFor(caller: TfeCaller, workspace: string): Promise<readonly TfeSetName[]>;
  /** Those of the names that exist, in their order. */
  read(caller: TfeCaller, names: readonly TfeSetName[]): Promise<readonly TfeVariableSet[]>;
  /** Undefined where there is one of the name. */
  create(caller: TfeCaller, set: NewTfeSet): Promise<TfeVariableSet | undefined>;
  change(caller: TfeCaller, name: TfeSetName, change: TfeSetChange): Promise<TfeVariableSet>;
  attach(caller: TfeCaller, name: TfeSetName, places: SetPlaces): Promise<void>;
  /** What it is not attached to makes no difference. */
  detach(caller: TfeCaller, name: TfeSetName, places: SetPlaces): Promise<void>;
  remove(caller: TfeCaller, name: TfeSetName): Promise<void>;
}
