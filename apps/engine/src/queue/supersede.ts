import { Project_Supersede, type StackQueue } from "@stackwright/proto/stackwright";
import type { RunReference } from "../domain/run-places.ts";
import { isAt, move, readRun } from "./run-row.ts";
import { isApprovedWithSet } from "./set-member.ts";
import type { Row, Transaction } from "./transaction.ts";

/** Runs that one request ends: each is a few writes of one batch. The next request ends further ones. */
const MAX_SUPERSEDED = 6;

/**
 * Ends the older runs of a stack that a new one makes pointless, by the policy of the project: those that wait for their turn, and
 * the current one while its plan waits for approval or an override of policies. An approved run, or one with a worker, is never ended.
 */
export async function supersedeOlder(
  tx: Transaction,
  queue: Row<StackQueue>,
  policy: Project_Supersede,
  { reference: { stack, run: by }, actor }: { reference: RunReference; actor: string },
): Promise<void> {
  if (policy === Project_Supersede.SUPERSEDE_UNSPECIFIED) return;
  const change = { reason: `superseded by the run ${by}`, supersededBy: by };
  const { current, pending } = queue.message;
  const ended = new Set<string>();
  for (const id of pending.slice(0, MAX_SUPERSEDED - 1)) {
    // Another server has just requested the same run: this batch fails, and the next attempt sees that.
    if (id === by) continue;
    const run = await readRun(tx, { stack, run: id });
    if (!isAt(run, "queued")) continue;
    await move(tx, run, "superseded", actor, change);
    ended.add(id);
  }
  const rest = pending.filter((id) => !ended.has(id));
  let left = current;
  const mayEndCurrent = policy === Project_Supersede.SUPERSEDE_UNAPPROVED && rest.length === 0;
  if (mayEndCurrent && current !== "" && current !== by) {
    const run = await readRun(tx, { stack, run: current });
    const isWaiting = isAt(run, "awaiting_approval", "policy_failed");
    if (isWaiting && !(await isApprovedWithSet(tx, { stack }, run.row.message))) {
      await move(tx, run, "superseded", actor, change);
      left = "";
    }
  }
  if (ended.size > 0 || left !== current) tx.update(queue, { current: left, pending: rest });
}

/** Ends the current run if its plan was saved for later and waits for approval: a saved plan keeps no other run out. */
export async function supersedeSavedPlan(
  tx: Transaction,
  queue: Row<StackQueue>,
  { reference: { stack, run: by }, actor }: { reference: RunReference; actor: string },
): Promise<void> {
  const { current, pending } = queue.message;
  if (current === "" || current === by || pending.length > 0) return;
  const run = await readRun(tx, { stack, run: current });
  if (!run.row.message.savedPlan || !isAt(run, "awaiting_approval", "policy_failed")) return;
  const change = { reason: `superseded by the run ${by}`, supersededBy: by };
  await move(tx, run, "superseded", actor, change);
  tx.update(queue, { current: "" });
}
