import type { PlanSet } from "@stackwright/client";

type Approval = PlanSet["approvals"][number];

/** The approvals of a set: those that still count while it waits for them, and all that were given once it waits no more. */
export function approvalsOf(
  { approvals, phase }: Pick<PlanSet, "approvals" | "phase">,
  nowMs: number,
): readonly Approval[] {
  if (phase !== "awaiting_approval") return approvals;
  return approvals.filter(({ expires_at: end }) => end === undefined || nowMs < Date.parse(end));
}
