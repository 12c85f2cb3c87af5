import { listResourceHeads, readStored, type StorageBackend } from "@stackwright/storage";
import type { ProjectPlace } from "../domain/kinds-of-projects.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { projectTenancy, STACK_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";

export async function projectHasStacks(
  storage: StorageBackend,
  project: ProjectPlace,
): Promise<boolean> {
  const tenancy = projectTenancy(project);
  const heads = listResourceHeads(storage, "strong", STACK_KIND.type, tenancy, "");
  return (await heads.next()).done !== true;
}

/** Whether there is a project: one with settings, or with stacks. */
export async function isKnownProject(
  storage: StorageBackend,
  project: ProjectPlace,
): Promise<boolean> {
  const id = idOf(SERVER_KINDS.project, projectPlace(project));
  if ((await readStored(storage, "strong", id)) !== undefined) return true;
  return projectHasStacks(storage, project);
}
