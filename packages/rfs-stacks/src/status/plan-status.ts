import type { RfsPlan } from "../port/plan-port.ts";

type PlanStatus =
  | "CREATION_IN_PROGRESS"
  | "CREATION_FAILED"
  | "AVAILABLE"
  | "APPLY_IN_PROGRESS"
  | "APPLIED";

/** The status of an execution plan by its run. A plan that a newer run made stale stays available, and is refused when it is applied. */
export function planStatus({ phase, appliedAtMs, hasPlan }: RfsPlan): PlanStatus {
  switch (phase) {
    case "queued":
    case "preparing":
    case "planning":
    case "planned":
      return "CREATION_IN_PROGRESS";
    case "approved":
    case "applying":
      return "APPLY_IN_PROGRESS";
    case "applied":
    case "partially_applied":
    case "rolled_back":
      return "APPLIED";
    case "no_changes":
      return appliedAtMs > 0 ? "APPLIED" : "AVAILABLE";
    case "failed":
    case "canceled":
      if (appliedAtMs > 0) return "APPLIED";
      return hasPlan ? "AVAILABLE" : "CREATION_FAILED";
    case "awaiting_approval":
    case "policy_failed":
    case "plan_finished":
      return "AVAILABLE";
    case "discarded":
    case "superseded":
    default:
      return hasPlan ? "AVAILABLE" : "CREATION_FAILED";
  }
}

/** What there is to say about a status: why there is no plan, or why it cannot be applied. */
export function planMessage({ phase, reason, appliedAtMs }: RfsPlan): string {
  if (phase === "awaiting_approval") {
    return appliedAtMs > 0 ? "the plan waits for further approvals" : "";
  }
  if (phase === "policy_failed") return "policies forbid the plan";
  if (phase === "discarded" || phase === "superseded") {
    return reason === "" ? "the plan is stale: it cannot be applied" : `stale: ${reason}`;
  }
  const hasFailed = phase === "failed" || phase === "canceled" || phase === "partially_applied";
  return hasFailed ? reason : "";
}
