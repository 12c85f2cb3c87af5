import type { NamedStack, StackReference } from "@stackwright/core";
import type { Variable } from "@stackwright/proto/stackwright";
import type {
  TfeCaller,
  TfeSetName,
  TfeVariable,
  TfeVariableChange,
  TfeVariableName,
  TfeVariableOwner,
  VariablePort,
} from "@stackwright/tfe";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { NewVariable, VariableKey } from "../api/variables/variable-view.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";
import type { DecideValue, NewValue } from "../variables/new-value.ts";
import { byKey } from "../variables/set-variables.ts";
import {
  listStackVariables,
  noVariable,
  removeStackVariable,
  writeStackVariable,
} from "../variables/stack-variables.ts";
import {
  readSet,
  removeSetVariable,
  setsOfAccount,
  setsOfProject,
  writeSetVariable,
} from "../variables/variable-sets.ts";
import { categoryOf, readEffectiveVariables } from "../worker/run-variables.ts";
import { type AuditedChange, targetOf } from "./audited-change.ts";
import { setTarget } from "./set-target.ts";

interface VariableParts extends TransactionParts, ServedParts {
  /** `not_found` for the id of a workspace that the caller does not see. */
  readonly stackOf: (caller: TfeCaller, workspace: string) => Promise<NamedStack>;
  readonly audited: AuditedChange;
}

/** What the server's own routes take. */
const VALID = Compile(Type.Object({ key: VariableKey, ...NewVariable.properties }));

/** The variables of stacks and of variable sets as those of workspaces and sets. */
export function workspaceVariables(parts: VariableParts): VariablePort {
  const { storage, stackOf, audited } = parts;

  const write = async (
    caller: TfeCaller,
    owner: TfeVariableOwner,
    { category, key }: TfeVariableName,
    decide: DecideValue,
  ): Promise<TfeVariable> => {
    const at = { category, key };
    const path = `variables/${category}/${key}`;
    if ("workspace" in owner) {
      const stack = await stackOf(caller, owner.workspace);
      const noted = audited(caller, "SetVariable", `${targetOf(stack)}/${path}`);
      const { reference } = stack;
      return viewOf(
        (await writeStackVariable(noted, { ...at, stack: reference }, decide)).variable,
      );
    }
    const { project, name: set } = owner.set;
    const action = project === undefined ? "SetAccountSetVariable" : "SetSetVariable";
    const noted = audited(caller, action, `${setTarget(owner.set)}/${path}`);
    const { account } = caller;
    const { variable } =
      project === undefined
        ? await writeSetVariable(noted, setsOfAccount(account), { ...at, set }, decide)
        : await writeSetVariable(
            noted,
            setsOfProject({ account, project }),
            { ...at, set },
            decide,
          );
    return viewOf(variable);
  };

  return {
    list: async (caller, owner) => {
      if ("workspace" in owner) {
        const { reference } = await stackOf(caller, owner.workspace);
        return (await listStackVariables(storage, reference)).map(viewOf);
      }
      const { project, name } = owner.set;
      const { account } = caller;
      const found =
        project === undefined
          ? await readSet(storage, setsOfAccount(account), name)
          : await readSet(storage, setsOfProject({ account, project }), name);
      if (found === undefined) throw new ServerError("not_found");
      return found.set.variables.toSorted(byKey).map(viewOf);
    },
    effective: async (caller, workspace) => {
      const { reference, name } = await stackOf(caller, workspace);
      const found = await readEffectiveVariables(storage, reference, name);
      return found.map(({ variable, from }) => ({
        ...viewOf(variable),
        set: from && setNameOf(from, reference),
      }));
    },
    add: async (caller, owner, { category, key, value, sensitive, description }) => {
      const wanted = { value, sensitive, description };
      requireValid({ key, ...wanted });
      try {
        return await write(caller, owner, { category, key }, (stored) => {
          if (stored !== undefined) throw new ServerError("name_taken");
          return wanted;
        });
      } catch (error) {
        if (isServerError(error, "name_taken")) return undefined;
        throw error;
      }
    },
    change: async (caller, owner, { category, key }, change) =>
      write(caller, owner, { category, key }, (stored) => {
        if (stored === undefined) throw noVariable(key);
        const wanted = changed(stored.variable, change);
        requireValid({ key, ...wanted, value: wanted.value ?? "" });
        return wanted;
      }),
    remove: async (caller, owner, { category, key }) => {
      const path = `variables/${category}/${key}`;
      const unchecked = (): void => undefined;
      if ("workspace" in owner) {
        const stack = await stackOf(caller, owner.workspace);
        const noted = audited(caller, "DeleteVariable", `${targetOf(stack)}/${path}`);
        const at = { stack: stack.reference, category, key };
        return removeStackVariable(noted, at, unchecked);
      }
      const { project, name: set } = owner.set;
      const action = project === undefined ? "DeleteAccountSetVariable" : "DeleteSetVariable";
      const noted = audited(caller, action, `${setTarget(owner.set)}/${path}`);
      const { account } = caller;
      const at = { category, key, set };
      return project === undefined
        ? removeSetVariable(noted, setsOfAccount(account), at, unchecked)
        : removeSetVariable(noted, setsOfProject({ account, project }), at, unchecked);
    },
  };
}

/** A stored variable without the value of a sensitive one. */
export function viewOf(variable: Variable): TfeVariable {
  const { key, value, sensitive, description } = variable;
  return {
    key,
    category: categoryOf(variable),
    sensitive,
    value: sensitive ? undefined : Buffer.from(value).toString("utf8"),
    description,
  };
}

/** What a variable becomes: what is not named stays. `unprocessable` for a sensitive one that would not be one any more. */
function changed(stored: Variable, change: TfeVariableChange): NewValue {
  const { value, sensitive = stored.sensitive, description = stored.description } = change;
  if (stored.sensitive && !sensitive) {
    throw new ServerError(
      "unprocessable",
      '"sensitive" cannot become false; delete the variable and create one',
    );
  }
  return { value, sensitive, description };
}

function setNameOf(
  { set, scope }: { readonly set: string; readonly scope: "project" | "account" },
  { project }: StackReference,
): TfeSetName {
  return { project: scope === "project" ? project : undefined, name: set };
}

/** `unprocessable`, with the attribute that is wrong. */
function requireValid(variable: object): void {
  if (VALID.Check(variable)) return;
  const [first] = VALID.Errors(variable);
  const name = first?.instancePath.split("/")[1] ?? "key";
  throw new ServerError("unprocessable", `"${name}" ${first?.message ?? "is not valid"}`);
}
