import type { PlanSet, Run } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";

type Approvals = Pick<
  Run | PlanSet,
  "phase" | "approvals" | "required_approvals" | "approval_expires_at"
>;

/** What is said about the approvals of a run or a plan set: names and values. Until its apply begins, which of them count, and until when. */
export function approvalFacts(
  { phase, approvals, required_approvals: required, approval_expires_at: limit }: Approvals,
  nowMs: number,
): readonly (readonly [string, string | undefined])[] {
  const isApproved = phase === "approved";
  const isWaiting = phase === "awaiting_approval" || phase === "policy_failed";
  const isOver = (end: string | undefined) => end !== undefined && nowMs >= Date.parse(end);
  const given = approvals.map(({ actor, at, expires_at: end }) => {
    const text = `${at} by ${printable(actor)}`;
    if (end === undefined || !(isWaiting || isApproved)) return ["Approved", text] as const;
    const until = isOver(end) ? `no longer counts since ${end}` : `counts until ${end}`;
    return ["Approved", `${text}, ${until}`] as const;
  });
  const counting = approvals.filter(({ expires_at: end }) => !isOver(end)).length;
  return [
    ...given,
    ["Approvals", isWaiting && required > 1 ? `${counting} of ${required}` : undefined],
    [isApproved ? "Apply until" : "Approve by", limit],
  ];
}
