import { type PlanSet, PlanSet_Phase } from "@stackwright/proto/stackwright";
import { countingApprovals } from "../domain/approval-time.ts";
import { isSetApprovalOver, isSetEnded, planSetPhase } from "../domain/plan-set-phases.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { APPROVAL_EXPIRED } from "../queue/expire-approval.ts";
import { requireFreshPlan } from "../queue/require-fresh-plan.ts";
import { phaseOf } from "../queue/run-row.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { type PlanSetReference, placeOfSet, runOfMember } from "./plan-set-reference.ts";

interface NewSetApproval {
  readonly actor: string;
  /** Of the plans that the author of the approval was shown. */
  readonly digest: string;
  readonly comment?: string;
}

/**
 * Approves all plans of a set at once: the approval that completes the rule makes the set `applying` in one step, and each run is approved
 * with it when it is its turn. A second approval by one actor counts once; one that no longer counts is given again. `approval_expired` where the set has waited for too long; `plan_changed` for other plans than those that were shown,
 * `plan_stale` where the state of a stack was changed since its plan was made: others would be applied before that is seen; `self_approval` and `forbidden` by the rules of the runs.
 */
export async function approvePlanSet(
  parts: TransactionParts,
  reference: PlanSetReference,
  { actor, digest, comment = "" }: NewSetApproval,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await openSet(tx, reference, { isApproved: true });
    const { message: set } = row;
    requireSetTime(set, tx.nowMs);
    if (set.phase !== PlanSet_Phase.PHASE_AWAITING_APPROVAL) throw notNow(set);
    if (set.digest !== digest) {
      throw new ServerError(
        "plan_changed",
        `the digest of the plans is ${set.digest}; show them, and approve that`,
      );
    }
    const counting = countingApprovals(set, tx.nowMs);
    if (counting.some((one) => one.actor === actor)) return;
    if (set.excludeAuthor && set.actor === actor) throw new ServerError("self_approval");
    if (set.approvers.length > 0 && !set.approvers.includes(actor)) {
      throw new ServerError(
        "forbidden",
        `${actor} is not among those who approve plans of the project: ${set.approvers.join(", ")}`,
      );
    }
    for (const member of set.members) {
      const of = runOfMember(reference, member);
      const run = await tx.find(RUN_KIND, runPlace(of));
      if (run === undefined || phaseOf(run.message) !== "awaiting_approval") continue;
      await requireFreshPlan(tx, { ...of, stackName: member.stackName }, run.message);
    }
    const atMs = BigInt(tx.nowMs);
    const approval = { actor, planDigest: digest, comment, atMs };
    const isComplete = counting.length + 1 >= set.requiredApprovals;
    // With those that no longer count, as long as others are needed: it is seen that they were given.
    const others = isComplete ? counting : set.approvals.filter((one) => one.actor !== actor);
    tx.update(row, {
      approvals: [...others, approval],
      updatedAtMs: atMs,
      ...(isComplete && {
        phase: PlanSet_Phase.PHASE_APPLYING,
        applyTraceParent: tx.traceParent,
      }),
    });
  });
}

/** Gives the plans of a set up that wait for approval. */
export async function discardPlanSet(
  parts: TransactionParts,
  reference: PlanSetReference,
  { actor, reason = "" }: { readonly actor: string; readonly reason?: string },
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await openSet(tx, reference);
    if (row.message.phase !== PlanSet_Phase.PHASE_AWAITING_APPROVAL) throw notNow(row.message);
    tx.update(row, {
      phase: PlanSet_Phase.PHASE_DISCARDED,
      reason: reason === "" ? `discarded by ${actor}` : reason,
      updatedAtMs: BigInt(tx.nowMs),
    });
  });
}

/** Ends a set: nothing more of it begins, and what is being planned or applied is canceled as a run is. */
export async function cancelPlanSet(
  parts: TransactionParts,
  reference: PlanSetReference,
  { actor }: { readonly actor: string },
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await openSet(tx, reference);
    tx.update(row, {
      phase: PlanSet_Phase.PHASE_CANCELED,
      reason: `canceled by ${actor}`,
      updatedAtMs: BigInt(tx.nowMs),
    });
  });
}

/** `not_found`, or `run_ended` for a set that has ended; where it is to be approved and ended by its time, `approval_expired`. */
async function openSet(
  tx: Transaction,
  reference: PlanSetReference,
  { isApproved = false }: { readonly isApproved?: boolean } = {},
): Promise<StoredRow<PlanSet>> {
  const row = await tx.find(SERVER_KINDS.planSet, placeOfSet(reference));
  if (row === undefined) {
    throw new ServerError("not_found", `there is no plan set ${reference.set}`);
  }
  if (isSetEnded(row.message.phase)) {
    if (isApproved && row.message.reasonCode === APPROVAL_EXPIRED) throw expired(row.message);
    const phase = planSetPhase(row.message.phase);
    throw new ServerError("run_ended", `the plan set ${reference.set} has ended: it is ${phase}`);
  }
  return row;
}

/** `approval_expired` for a set that has waited for too long. */
function requireSetTime(set: PlanSet, nowMs: number): void {
  if (isSetApprovalOver(set, nowMs)) throw expired(set);
}

function expired({ id, approvalDeadlineMs, reason }: PlanSet): ServerError {
  const until = new Date(Number(approvalDeadlineMs)).toISOString();
  const why =
    reason === ""
      ? `could be approved until ${until}; request another set`
      : `has ended: ${reason}`;
  return new ServerError(APPROVAL_EXPIRED, `the plan set ${id} ${why}`);
}

function notNow({ id, phase }: PlanSet): ServerError {
  return new ServerError(
    "illegal_transition",
    `the plan set ${id} is ${planSetPhase(phase)}; this needs awaiting_approval`,
  );
}
