import { projectPlace } from "../domain/project-settings.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { orderWithCreations } from "../queue/require-room.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import type { ProjectReference } from "./known-projects.ts";
import { listBindings, removeBindings } from "./remove-bindings.ts";

/** How often the roles are taken away again where some are given meanwhile. */
const ATTEMPTS = 10;

/**
 * Removes the settings of a project without stacks, and the roles that are given in it, also those that are given at the same time: another project
 * of the same name begins without them. `requireMatch` refuses a generation of the settings that the caller has not seen. `not_found` where there are neither.
 */
export async function deleteProject(
  parts: TransactionParts,
  { account, project }: ProjectReference,
  requireMatch: (generation: string) => void,
): Promise<void> {
  const place = projectPlace({ account, project });
  const roles = async () => listBindings(parts, account, (one) => one.project === project);
  const found = await roles();
  await transact(parts, async (tx) => {
    const row = await tx.find(SERVER_KINDS.project, place);
    if (row !== undefined) requireMatch(row.resource.generation);
    else if (found.length === 0) {
      throw new ServerError("not_found", `there is no project "${project}"`);
    }
  });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await removeBindings(parts, account, await roles());
    const isDone = await transact(parts, async (tx) => {
      // Who gives a new role writes the same record: it is found below, or this begins again, or the other one does and finds no project.
      await orderWithCreations(tx, { kind: SERVER_KINDS.roleBinding, tenancy: place.tenancy });
      const row = await tx.find(SERVER_KINDS.project, place);
      if (row !== undefined) requireMatch(row.resource.generation);
      if ((await roles()).length > 0) return false;
      if (row !== undefined) tx.remove(row);
      return true;
    });
    if (isDone) return;
  }
  throw new ServerError("conflict", "roles are given in the project all the time; try again");
}
