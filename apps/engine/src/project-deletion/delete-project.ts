import type { Logger } from "@stackwright/base/logger";
import { isEngineError } from "@stackwright/core/errors";
import { isStorageError, readStored } from "@stackwright/storage";
import { isKnownProject } from "../access/known-projects.ts";
import { type ProjectPlace, projectDeletionPlace } from "../domain/kinds-of-projects.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import {
  decideDeletion,
  finishProjectDeletion,
  hasRemains,
  takeBackDeletion,
} from "./project-deletion.ts";

const KIND = SERVER_KINDS.projectDeletion;

/**
 * Removes a project without stacks, with all that belongs to it: another project of the same name begins with nothing of it. What an
 * interruption leaves behind the decision, any server removes later. `requireMatch` refuses a generation of the settings that the caller has not seen.
 * `not_found` where there is nothing of a project, `not_empty` where it has stacks, also one that is made at the same time; `conflict` where its settings are damaged.
 */
export async function deleteProject(
  parts: TransactionParts & { readonly logger?: Logger | undefined },
  project: ProjectPlace,
  requireMatch: (generation: string) => void,
): Promise<void> {
  // The entry of the audit trail is in the step that decides.
  const unaudited = { ...parts, companion: undefined };
  await requireReadableSettings(parts, project);
  const isOwn = await beginDeletion(unaudited, project, requireMatch);
  const decision = await decideDeletion(parts, project, requireMatch).catch(async (error) => {
    // Where that fails as well, any server does so later.
    if (isOwn) await takeBackDeletion(unaudited, project).catch(() => undefined);
    throw error;
  });
  if (decision === "not_empty") {
    await takeBackDeletion(unaudited, project);
    throw new ServerError("not_empty");
  }
  if (decision === "absent") {
    // Another request, or another server, has finished it or taken it back.
    const isLeft = await isKnownProject(parts.storage, project);
    if (!isLeft && !(await hasRemains(parts, project))) return;
    throw new ServerError(
      "conflict",
      `the deletion of the project "${project.project}" was taken back, or it was made again; try again`,
    );
  }
  try {
    await finishProjectDeletion(unaudited, project);
  } catch (error) {
    // It is deleted: any server of the store removes the rest.
    parts.logger?.warn({ err: error, ...project }, "the rest of a project is removed later");
  }
}

/** Refuses a project whose settings are damaged: whether their caller has seen them is not known. `conflict` */
async function requireReadableSettings(
  { storage }: TransactionParts,
  project: ProjectPlace,
): Promise<void> {
  try {
    const found = await readStored(
      storage,
      "strong",
      idOf(SERVER_KINDS.project, projectPlace(project)),
    );
    if (found !== undefined) decodeRecord(SERVER_KINDS.project, found);
  } catch (error) {
    const isDamaged =
      isStorageError(error, "STORAGE_CORRUPT") || isEngineError(error, "ENGINE_STATE_CORRUPT");
    if (!isDamaged) throw error;
    throw new ServerError(
      "conflict",
      `the settings of the project "${project.project}" are damaged (the record Project "${project.project}" of the account ${project.account}): ` +
        "an operator of the store sees it by `stackwright admin damaged list`, keeps a copy by `admin damaged export FILE` and removes it by " +
        "`admin damaged drop FILE`, or restores a backup; then delete the project again",
      { cause: error },
    );
  }
}

/** Notes that a project is deleted, so that nothing is made in it; false where that is noted already. */
async function beginDeletion(
  parts: TransactionParts,
  project: ProjectPlace,
  requireMatch: (generation: string) => void,
): Promise<boolean> {
  const place = projectDeletionPlace(project);
  return transact(parts, async (tx) => {
    if ((await tx.find(KIND, place)) !== undefined) return false;
    const settings = await tx.find(SERVER_KINDS.project, projectPlace(project));
    if (settings !== undefined) requireMatch(settings.resource.generation);
    else if (!(await hasRemains(parts, project))) {
      throw new ServerError("not_found", `there is no project "${project.project}"`);
    }
    tx.create(KIND, place, { atMs: BigInt(tx.nowMs), decided: false });
    return true;
  });
}
