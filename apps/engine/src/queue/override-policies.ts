import { PolicySet_Enforcement, PolicySetResult_Outcome } from "@stackwright/proto/stackwright";
import { type RunReference, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { requireApprovalTime } from "./expire-approval.ts";
import { move, readServerRun, requireAt } from "./run-row.ts";
import { requireSetTime } from "./set-member.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** A permission to pass policies. */
interface NewOverride {
  readonly actor: string;
  readonly reason: string;
  /** The plan that its author was shown. */
  readonly planDigest: string;
  /** Refuses where the author of the override lacks the role that a set asks for. */
  readonly requireRole: (role: "operator" | "admin") => void;
}

/**
 * Lets the plan of a run pass although overridable policies forbid it: it then waits for its approvals. `forbidden` for a caller without the
 * role of each set that failed, `self_approval` for the author of the run where the project wants another person to decide, `plan_changed`
 * if the run has another plan than the one that was shown, `approval_expired` where the plan, or the set that it is of, has waited for too long.
 */
export async function overridePolicies(
  parts: TransactionParts,
  reference: RunReference,
  { actor, reason, planDigest, requireRole }: NewOverride,
): Promise<void> {
  await transact(parts, async (tx) => {
    const found = await readServerRun(tx, reference);
    requireApprovalTime(found, tx.nowMs);
    const run = requireAt(found, "policy_failed");
    const { message } = run.row;
    await requireSetTime(tx, reference, message);
    if (message.planDigest !== planDigest) {
      throw new ServerError(
        "plan_changed",
        `the plan of the run is ${message.planDigest}; show it, and override for that digest`,
      );
    }
    if (message.excludeAuthor && message.actor === actor) throw new ServerError("self_approval");
    const row = await tx.get(SERVER_KINDS.policyResult, runPlace(reference));
    for (const { enforcement, outcome, overrideRole } of row.message.sets) {
      if (outcome === PolicySetResult_Outcome.OUTCOME_PASSED) continue;
      if (enforcement === PolicySet_Enforcement.ENFORCEMENT_ADVISORY) continue;
      requireRole(overrideRole === "operator" ? "operator" : "admin");
    }
    tx.update(row, { override: { actor, reason, atMs: BigInt(tx.nowMs) } });
    const event = { type: "policy-override", actor, reason };
    await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
    await move(tx, run, "awaiting_approval", actor, { reason: "", reasonCode: "" });
  });
}
