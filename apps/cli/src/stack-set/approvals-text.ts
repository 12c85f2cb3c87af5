import type { PlanSet } from "@stackwright/client";

/** How many approvals a set has that count, of how many that it needs: what is past its time is kept, and counts no longer. */
export function approvalsText(
  { approvals, required_approvals: required }: Pick<PlanSet, "approvals" | "required_approvals">,
  nowMs: number,
): string {
  const counting = approvals.filter(
    ({ expires_at: at }) => at === undefined || Date.parse(at) > nowMs,
  );
  return `${counting.length} of ${required} approvals`;
}
