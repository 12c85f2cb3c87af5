import type { TfeCaller } from "./caller.ts";

/** Names a variable among those of its owner. */
export interface TfeVariableName {
  readonly key: string;
  readonly category: "terraform" | "env";
}

/** A variable of a workspace or of a set; a sensitive one without its value. */
export interface TfeVariable extends TfeVariableName {
  readonly value: string | undefined;
  readonly sensitive: boolean;
  readonly description: string;
}

/** A variable that is added. */
export interface NewTfeVariable extends TfeVariableName {
  readonly value: string;
  readonly sensitive: boolean;
  readonly description: string;
}

/** What is changed of a variable; the rest stays, the value of a sensitive one as well. */
export interface TfeVariableChange {
  readonly value?: string | undefined;
  readonly sensitive?: boolean | undefined;
  readonly description?: string | undefined;
}

/** Names a variable set: of a project, or of the account. */
export interface TfeSetName {
  readonly project: string | undefined;
  readonly name: string;
}

/** Whose a variable is. */
export type TfeVariableOwner = { readonly workspace: string } | { readonly set: TfeSetName };

/** Variables of workspaces and of sets. Names of others than those that the caller sees do not exist. */
export interface VariablePort {
  /** Those of a workspace or of a set itself. */
  list(caller: TfeCaller, owner: TfeVariableOwner): Promise<readonly TfeVariable[]>;
  /** What runs of a workspace have: each once, with the set that it is from. */
  effective(
    caller: TfeCaller,
    workspace: string,
  ): Promise<readonly (TfeVariable & { readonly set: TfeSetName | undefined })[]>;
  /** Undefined where the owner has one of the name. */
  add(
    caller: TfeCaller,
    owner: TfeVariableOwner,
    variable: NewTfeVariable,
  ): Promise<TfeVariable | undefined>;
  change(
    caller: TfeCaller,
    owner: TfeVariableOwner,
    name: TfeVariableName,
    change: TfeVariableChange,
  ): Promise<TfeVariable>;
  remove(caller: TfeCaller, owner: TfeVariableOwner, name: TfeVariableName): Promise<void>;
}
