import { type PlanSet, PlanSet_Phase } from "@stackwright/proto/stackwright";

/** Where a plan set is. The last six are ends. */
export type PlanSetPhase =
  | "planning"
  | "awaiting_approval"
  | "applying"
  | "applied"
  | "no_changes"
  | "plan_finished"
  | "failed"
  | "discarded"
  | "canceled";

const NAMES = new Map<PlanSet_Phase, PlanSetPhase>([
  [PlanSet_Phase.PHASE_PLANNING, "planning"],
  [PlanSet_Phase.PHASE_AWAITING_APPROVAL, "awaiting_approval"],
  [PlanSet_Phase.PHASE_APPLYING, "applying"],
  [PlanSet_Phase.PHASE_APPLIED, "applied"],
  [PlanSet_Phase.PHASE_NO_CHANGES, "no_changes"],
  [PlanSet_Phase.PHASE_PLAN_FINISHED, "plan_finished"],
  [PlanSet_Phase.PHASE_FAILED, "failed"],
  [PlanSet_Phase.PHASE_DISCARDED, "discarded"],
  [PlanSet_Phase.PHASE_CANCELED, "canceled"],
]);

export const PLAN_SET_PHASES: readonly PlanSetPhase[] = [...NAMES.values()];

/** The phase as the API names it; one of a newer release is `failed`. */
export function planSetPhase(stored: PlanSet_Phase): PlanSetPhase {
  return NAMES.get(stored) ?? "failed";
}

/** Whether nothing more is planned or applied of a set. */
export function isSetEnded(stored: PlanSet_Phase): boolean {
  const phase = planSetPhase(stored);
  return phase !== "planning" && phase !== "awaiting_approval" && phase !== "applying";
}

type WaitingSet = Pick<PlanSet, "phase" | "approvalDeadlineMs">;

/** Until when a set can be approved, or what policies forbid in it be overridden; undefined: without a limit, or nothing waits for that. */
export function setApprovalLimitMs({ phase, approvalDeadlineMs }: WaitingSet): number | undefined {
  const name = planSetPhase(phase);
  const isWaiting = name === "planning" || name === "awaiting_approval";
  return isWaiting && approvalDeadlineMs !== 0n ? Number(approvalDeadlineMs) : undefined;
}

/** Whether the time for the approval of a set is over. */
export function isSetApprovalOver(set: WaitingSet, nowMs: number): boolean {
  return nowMs >= (setApprovalLimitMs(set) ?? Number.POSITIVE_INFINITY);
}
