import type { Run } from "@stackwright/client";

type Approval = Run["approvals"][number];

const ENDING = new Set<Run["phase"]>(["awaiting_approval", "policy_failed", "approved"]);

/** The approvals of a run that still count. */
export function countingApprovals(
  { approvals }: Pick<Run, "approvals">,
  nowMs: number,
): readonly Approval[] {
  return approvals.filter((one) => !isOver(one, nowMs));
}

/** Whether an approval no longer counts. */
export function isOver({ expires_at: end }: Approval, nowMs: number): boolean {
  return end !== undefined && nowMs >= Date.parse(end);
}

/** Until when an approval counts, as long as that matters: what has begun to be applied needs it no more. */
export function endOfApproval(
  { phase }: Pick<Run, "phase">,
  { expires_at: end }: Approval,
): string | undefined {
  return ENDING.has(phase) ? end : undefined;
}
