import type { StackReference } from "./stack-state.ts";

/** Where the data keys of the variable sets of a project are. Ids of stacks are ULIDs, so that no stack has this one. */
export function variableSetKeys({
  account,
  project,
}: Pick<StackReference, "account" | "project">): StackReference {
  return { account, project, stack: "variable-sets" };
}
