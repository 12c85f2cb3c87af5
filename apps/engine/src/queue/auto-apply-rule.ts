import type { StackReference } from "@stackwright/core";
import type { Project } from "@stackwright/proto/stackwright";
import { defaultProject, projectPlace, requiresApproval } from "../domain/project-settings.ts";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Transaction } from "./transaction.ts";

/** The settings of a project. They are guards of the transaction: what is decided by them is not written after they changed. */
export async function guardedProject(
  tx: Transaction,
  place: Pick<StackReference, "account" | "project">,
): Promise<Project> {
  const at = projectPlace(place);
  const row = await tx.find(SERVER_KINDS.project, at);
  if (row !== undefined) tx.guardRow(row);
  else tx.guardAbsent(SERVER_KINDS.project, at);
  return row?.message ?? defaultProject(place.project);
}

/**
 * `unprocessable` where no plan of the project is applied without an approval.
 *
 * @param instead what the caller may do without `auto_apply`
 */
export function requireAutoApply(rules: Project, instead: string): void {
  if (!requiresApproval(rules)) return;
  throw new ServerError(
    "unprocessable",
    `plans of the project ${rules.name} are applied after an approval only; ${instead} without auto_apply`,
  );
}

/**
 * Refuses that something paused continues whose runs the project has come to forbid, as {@link requireAutoApply} does.
 *
 * @param instead what the caller may do without `auto_apply`
 */
export async function requireContinues(
  tx: Transaction,
  { tenancy: { partition: account, namespace: project } }: Place,
  paused: {
    readonly message: { readonly paused: boolean; readonly autoApply?: boolean | undefined };
    readonly body: { readonly paused?: boolean };
  },
  instead: string,
): Promise<void> {
  const { message, body } = paused;
  if (body.paused !== false || !message.paused || message.autoApply !== true) return;
  requireAutoApply(await guardedProject(tx, { account, project }), instead);
}
