import { RunTicket_Step } from "@stackwright/proto/stackwright";
import { countingApprovals } from "../domain/approval-time.ts";
import {
  memberPlace,
  type RunReference,
  STACK_PLAN_KIND,
  ticketPlace,
} from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { APPROVAL_EXPIRED, noteApprovalExpired, requireApprovalTime } from "./expire-approval.ts";
import { requireFreshPlan } from "./require-fresh-plan.ts";
import { move, readServerRun, requireAt } from "./run-row.ts";
import { requireNoSet } from "./set-member.ts";
import { freeTicket, leaveQueue } from "./stack-queue.ts";
import { unclearApply } from "./stack-tool.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** An approval, for the plan that its author was shown. */
interface NewApproval {
  readonly actor: string;
  readonly planDigest: string;
  readonly comment?: string;
  /** It was given by rule, and not by somebody who looked at this plan. @default false */
  readonly isAutomatic?: boolean;
  /**
   * When an automatic one was asked for. One that was given since then and no longer counts is not given again: else a rule that is looked at
   * again and again would renew it without end. @default 0: never again
   */
  readonly requestedAtMs?: bigint;
}

/**
 * Approves the plan of a run. The approval that completes the rule makes the run `approved` and gives it a ticket. A
 * second approval by one actor counts once; one that no longer counts stays in the run, and is given again unless that is automatic. `conflict` for a run of a plan set, `self_approval` and `forbidden` by the rule of the project; `conflict` for an automatic one after an apply of which it is not known what it did; `plan_changed` if the run has another plan than the one that was shown;
 * `approval_expired` where the plan has waited for too long; `plan_stale` if the state was changed since the plan was made, so that it cannot be applied.
 */
export async function approveRun(
  parts: TransactionParts,
  reference: RunReference,
  { actor, planDigest, comment = "", isAutomatic = false, requestedAtMs = 0n }: NewApproval,
): Promise<void> {
  await transact(parts, async (tx) => {
    const found = await readServerRun(tx, reference);
    requireApprovalTime(found, tx.nowMs);
    const run = requireAt(found, "awaiting_approval");
    const { message } = run.row;
    requireNoSet(message);
    if (message.planDigest !== planDigest) {
      throw new ServerError(
        "plan_changed",
        `the plan of the run is ${message.planDigest}; show it, and approve that digest`,
      );
    }
    const counting = countingApprovals(message, tx.nowMs);
    if (counting.some((one) => one.actor === actor)) return;
    const wasGiven = message.approvals.some(
      (one) => one.actor === actor && one.planDigest === planDigest && one.atMs >= requestedAtMs,
    );
    if (isAutomatic && wasGiven) return;
    if (message.excludeAuthor && message.actor === actor) throw new ServerError("self_approval");
    if (message.approvers.length > 0 && !message.approvers.includes(actor)) {
      throw new ServerError(
        "forbidden",
        `${actor} is not among those who approve plans of the project: ${message.approvers.join(", ")}`,
      );
    }
    const unclear = message.tool === "" ? "" : await unclearApply(tx, reference.stack);
    if (isAutomatic && unclear !== "") {
      throw new ServerError(
        "conflict",
        `the outcome of the apply of the run ${unclear} is not known; compare the plan with the real objects`,
      );
    }
    const plan = await tx.find(STACK_PLAN_KIND, memberPlace(reference.stack, planDigest));
    if (plan === undefined)
      throw new ServerError("conflict", "the plan was deleted; request another run");
    tx.guardRow(plan);
    await requireFreshPlan(tx, reference, message);
    const approval = { actor, planDigest, comment, atMs: BigInt(tx.nowMs) };
    const event = { type: "approval", actor, plan_digest: planDigest, comment };
    await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
    if (counting.length + 1 < message.requiredApprovals) {
      // With those that no longer count: it is seen that they were given.
      const others = message.approvals.filter((one) => one.actor !== actor);
      const approvals = [...others, approval];
      tx.update(run.row, { approvals, updatedAtMs: BigInt(tx.nowMs) });
      return;
    }
    const { row } = await move(tx, run, "approved", actor, {
      approvals: [...counting, approval],
      applyTraceParent: tx.traceParent,
    });
    const ticket = freeTicket(row.message, RunTicket_Step.STEP_APPLY, tx.nowMs);
    tx.create(SERVER_KINDS.ticket, ticketPlace(reference), ticket);
  });
}

/** Gives a plan up, as long as no worker began to apply it; with the code `approval_expired` because the time of its set is over. */
export async function discardRun(
  parts: TransactionParts,
  reference: RunReference,
  {
    actor,
    reason = "",
    reasonCode = "",
  }: { readonly actor: string; readonly reason?: string; readonly reasonCode?: string },
): Promise<void> {
  await transact(parts, async (tx) => {
    const run = requireAt(
      await readServerRun(tx, reference),
      "awaiting_approval",
      "policy_failed",
      "approved",
    );
    const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
    if (ticket?.message.claim !== undefined) {
      throw new ServerError("illegal_transition", "a worker applies the run; cancel it instead");
    }
    const { row } = await move(tx, run, "discarded", actor, { reason, reasonCode });
    if (ticket !== undefined) tx.remove(ticket);
    await leaveQueue(tx, reference);
    if (reasonCode === APPROVAL_EXPIRED) await noteApprovalExpired(tx, reference, row.message);
  });
}
