import type { RunPhase } from "@stackwright/core";
import type { PlanSet, Project, Run, RunApproval } from "@stackwright/proto/stackwright";

const DAY_MS = 24 * 3_600_000;

/** How long a plan waits for its approval, and how long an approval counts, unless the project says otherwise. */
export const DEFAULT_APPROVAL_MS = 7 * DAY_MS;
/** What a project can say, in milliseconds. */
export const APPROVAL_BOUNDS = Object.freeze({ leastMs: 5 * 60_000, mostMs: 90 * DAY_MS });

/**
 * After the time of an approval is over, nothing begins by it, and the run is ended only so much later: clocks of servers differ, and what is
 * there to be ended did not begin by any of them.
 */
export const APPROVAL_GRACE_MS = 60_000;

type ApprovalRule = Pick<Run, "approvalDeadlineMs" | "approvalValidMs">;

type ProjectTimes = Pick<Project, "approvalWaitMs" | "approvalValidMs">;

/** What a run keeps of the rule of its project, when there is a plan. Runs of a plan set wait for the others of it: the set has the limit of all. */
export function approvalRuleOf(
  project: ProjectTimes | undefined,
  { planSet }: Pick<Run, "planSet">,
  nowMs: number,
): ApprovalRule {
  if (planSet !== "") return { approvalDeadlineMs: 0n, approvalValidMs: 0n };
  return approvalTimesOf(project, nowMs);
}

/** The rule of a project for what waits for approval from now on. */
export function approvalTimesOf(project: ProjectTimes | undefined, nowMs: number): ApprovalRule {
  const waitMs = orDefault(project?.approvalWaitMs);
  return {
    approvalDeadlineMs: BigInt(nowMs) + waitMs,
    approvalValidMs: orDefault(project?.approvalValidMs),
  };
}

/** A stored time of a project, or the default for none. */
export function orDefault(ms = 0n): bigint {
  return ms === 0n ? BigInt(DEFAULT_APPROVAL_MS) : ms;
}

/** Until when an approval counts; undefined: for ever. */
export function approvalEndMs(
  { approvalValidMs }: Pick<Run | PlanSet, "approvalValidMs">,
  { atMs }: Pick<RunApproval, "atMs">,
): number | undefined {
  return approvalValidMs === 0n ? undefined : Number(atMs + approvalValidMs);
}

/** The approvals that still count. */
export function countingApprovals(
  run: Pick<Run | PlanSet, "approvals" | "approvalValidMs">,
  nowMs: number,
): RunApproval[] {
  return run.approvals.filter(
    (one) => nowMs < (approvalEndMs(run, one) ?? Number.POSITIVE_INFINITY),
  );
}

/** Until when a run can go on by approvals: what waits for one, or was approved and waits for its worker; undefined: without a limit. */
export function approvalLimitMs(
  run: Pick<Run, "approvals"> & ApprovalRule,
  phase: RunPhase,
): number | undefined {
  if (phase === "awaiting_approval" || phase === "policy_failed") {
    return run.approvalDeadlineMs === 0n ? undefined : Number(run.approvalDeadlineMs);
  }
  if (phase !== "approved") return undefined;
  const ends = run.approvals.flatMap((one) => approvalEndMs(run, one) ?? []);
  return ends.length === 0 ? undefined : Math.min(...ends);
}
