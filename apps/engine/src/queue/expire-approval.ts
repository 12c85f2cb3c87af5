import type { RunPhase } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { APPROVAL_GRACE_MS, approvalLimitMs } from "../domain/approval-time.ts";
import { modeNameOf } from "../domain/run-modes.ts";
import { type RunReference, ticketPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { noteEvent } from "./note-event.ts";
import { isAt, move, type RunAt } from "./run-row.ts";
import { leaveQueue } from "./stack-queue.ts";
import type { Transaction } from "./transaction.ts";

/** Why a run or a set ended that was not approved, or not applied, in time. */
export const APPROVAL_EXPIRED = "approval_expired";

/** Whether the time for the approval of a plan, or of an approval that was given, is over: nothing begins by it then. */
export function isApprovalOver({ row, phase }: RunAt<RunPhase>, nowMs: number): boolean {
  return nowMs >= (approvalLimitMs(row.message, phase) ?? Number.POSITIVE_INFINITY);
}

/** `approval_expired` for a plan that has waited for too long, and for a run that ended because of that. */
export function requireApprovalTime(run: RunAt<RunPhase>, nowMs: number): void {
  const { id, reasonCode, reason } = run.row.message;
  if (run.phase === "discarded" && reasonCode === APPROVAL_EXPIRED) {
    throw new ServerError(APPROVAL_EXPIRED, `the run ${id} has ended: ${reason}`);
  }
  if (!isAt(run, "awaiting_approval", "policy_failed") || !isApprovalOver(run, nowMs)) return;
  const until = new Date(approvalLimitMs(run.row.message, run.phase) ?? 0).toISOString();
  throw new ServerError(
    APPROVAL_EXPIRED,
    `the plan of the run ${id} could be approved until ${until}; request another run`,
  );
}

/**
 * Ends a run whose plan was not approved in time, or whose approval no longer counts, with a minute of grace; false where it is not over. A
 * worker that has claimed the apply was faster: the ticket is a guard, so that one of both wins.
 */
export async function expireApproval(
  tx: Transaction,
  run: RunAt<RunPhase>,
  actor: string,
): Promise<boolean> {
  if (!isAt(run, "awaiting_approval", "policy_failed", "approved")) return false;
  if (!isApprovalOver(run, tx.nowMs - APPROVAL_GRACE_MS)) return false;
  const { reference } = run;
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
  if (ticket?.message.claim !== undefined) return false;
  const what =
    run.phase === "approved"
      ? "the approval of the plan no longer counts: it was not applied in time"
      : "the plan was not approved in time";
  const { row } = await move(tx, run, "discarded", actor, {
    reason: `${what}; request another run`,
    reasonCode: APPROVAL_EXPIRED,
  });
  if (ticket !== undefined) tx.remove(ticket);
  await leaveQueue(tx, reference);
  await noteApprovalExpired(tx, reference, row.message);
  return true;
}

/** Notes for destinations that the time for the approval of a run was over, which ended it. */
export async function noteApprovalExpired(
  tx: Transaction,
  { stack }: Pick<RunReference, "stack">,
  run: Run,
): Promise<void> {
  await noteEvent(tx, {
    event: "run.approval_expired",
    stack,
    run: run.id,
    runNumber: run.number,
    phase: "discarded",
    reasonCode: APPROVAL_EXPIRED,
    actor: run.actor,
    mode: modeNameOf(run.mode) ?? "",
    planOnly: false,
  });
}
