import type { StackReference } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import type { Transaction } from "./transaction.ts";

/** `plan_stale` if the state of a stack was changed since the plan of a run was made, so that it cannot be applied. */
export async function requireFreshPlan(
  tx: Transaction,
  { stack, stackName }: { readonly stack: StackReference; readonly stackName?: string },
  { tool, baseRevision }: Pick<Run, "tool" | "baseRevision">,
): Promise<void> {
  // The plan of a tool has a number of its own for what it was made from, which the tool itself compares.
  if (tool !== "") return;
  const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
  if (head === undefined || head.message.revision === baseRevision) return;
  const which = stackName === undefined ? "the plan" : `the plan of the stack ${stackName}`;
  const again = stackName === undefined ? "run" : "set";
  throw new ServerError(
    "plan_stale",
    `${which} was made from revision ${baseRevision}, and the state is at ${head.message.revision} by now; request another ${again}`,
  );
}
