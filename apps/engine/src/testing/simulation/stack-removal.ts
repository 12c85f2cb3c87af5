import type { NamedStack } from "@stackwright/core";
import { Workspace } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { projectTenancy, STACK_KIND } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { idOf, type TransactionParts } from "../../queue/transaction.ts";
import { removeWorkspaceNames } from "../../stack-deletion/remove-workspace.ts";
import { finishDeletion } from "../../stack-deletion/stack-deletion.ts";
import type { SimAction } from "./sim-case.ts";

/** What is asked of a plan set, which has no stack in its route. */
const OF_SETS: ReadonlySet<SimAction["kind"]> = new Set([
  "approve-set",
  "discard-set",
  "cancel-set",
]);

/** `not_found` for a stack that is gone, as routes look it up before they begin. */
export async function requireStack(
  { storage }: TransactionParts,
  { name, reference }: NamedStack,
  kind: SimAction["kind"],
): Promise<void> {
  if (OF_SETS.has(kind)) return;
  const place = { tenancy: projectTenancy(reference), name };
  if ((await readStored(storage, "strong", idOf(STACK_KIND, place))) === undefined)
    throw new ServerError("not_found");
}

/**
 * Deletes a stack, as the route does; by force, as the states of a simulation are none that a server can read.
 *
 * @param follow for what follows from the request, which the audit trail does not have
 */
export async function removeStack(
  parts: Parameters<typeof removeWorkspaceNames>[0],
  follow: TransactionParts,
  stack: NamedStack,
  actor: string,
): Promise<void> {
  const { name, reference } = stack;
  const record = Workspace.fromPartial({ name, project: reference.project, stackName: name });
  if (!(await removeWorkspaceNames(parts, { stack, record }, { force: true, actor })))
    throw new ServerError("not_found");
  // What it does not come to is done by any server later.
  await Promise.allSettled([finishDeletion(follow, reference)]);
}
