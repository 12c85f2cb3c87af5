import { type ResourceId, tenancyOf } from "@stackwright/storage";
import { STATE_KINDS, stackResourceId } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Stands for the account as a whole where a project is named. No project can have this name. */
const WHOLE_ACCOUNT = "~account";

/** Where the data keys of the variable sets of a project are. Ids of stacks are ULIDs, so that no stack has this one. */
export function variableSetKeys({
  account,
  project,
}: Pick<StackReference, "account" | "project">): StackReference {
  return { account, project, stack: "variable-sets" };
}

/** The same of the variable sets of an account. */
export function accountSetKeys({ account }: Pick<StackReference, "account">): StackReference {
  return variableSetKeys({ account, project: WHOLE_ACCOUNT });
}

/** Where data keys are stored: of a stack, or of what a project or an account has beside its stacks. */
export function keysId(reference: StackReference): ResourceId {
  const { account, project, stack } = reference;
  if (project !== WHOLE_ACCOUNT) return stackResourceId(reference, STATE_KINDS.keys);
  return {
    uid: "",
    name: stack,
    type: STATE_KINDS.keys,
    tenancy: tenancyOf({ kind: "account", account }),
  };
}
