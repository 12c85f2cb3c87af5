import type { RfsDeployment, RfsRunPhase, RfsStack } from "../port/stack-port.ts";

/** Statuses of stacks. */
type StackStatus =
  | "CREATION_COMPLETE"
  | "DEPLOYMENT_IN_PROGRESS"
  | "DEPLOYMENT_FAILED"
  | "DEPLOYMENT_COMPLETE"
  | "ROLLBACK_IN_PROGRESS"
  | "ROLLBACK_FAILED"
  | "ROLLBACK_COMPLETE"
  | "DELETION_IN_PROGRESS"
  | "DELETION_FAILED";

const COMPLETE: ReadonlySet<RfsRunPhase> = new Set(["applied", "no_changes", "plan_finished"]);
const IN_PROGRESS: ReadonlySet<RfsRunPhase> = new Set([
  "queued",
  "preparing",
  "planning",
  "planned",
  "awaiting_approval",
  "approved",
  "applying",
  "policy_failed",
]);

/** The status of a stack by its newest run. A run that waits for an approval is in progress. */
export function stackStatus({ deployment }: Pick<RfsStack, "deployment">): StackStatus {
  if (deployment === undefined) return "CREATION_COMPLETE";
  const { phase, purpose } = deployment;
  const isOpen = isInProgress(deployment);
  switch (purpose) {
    case "deletion":
      // A stack whose deletion is complete is gone.
      return isOpen ? "DELETION_IN_PROGRESS" : "DELETION_FAILED";
    case "rollback":
      if (isOpen) return "ROLLBACK_IN_PROGRESS";
      return COMPLETE.has(phase) ? "ROLLBACK_COMPLETE" : "ROLLBACK_FAILED";
    case "deployment":
      if (isOpen) return "DEPLOYMENT_IN_PROGRESS";
      if (phase === "rolled_back") return "ROLLBACK_COMPLETE";
      return COMPLETE.has(phase) ? "DEPLOYMENT_COMPLETE" : "DEPLOYMENT_FAILED";
    default:
      return purpose satisfies never;
  }
}

export function isInProgress({ phase }: Pick<RfsDeployment, "phase">): boolean {
  return IN_PROGRESS.has(phase);
}

/** What there is to say about a status: why a run failed, or what it waits for. */
export function statusMessage({ deployment }: Pick<RfsStack, "deployment">): string {
  if (deployment === undefined) return "";
  const { phase, purpose, reason } = deployment;
  if (phase === "awaiting_approval") return "the plan waits for an approval";
  if (phase === "policy_failed") return "policies forbid the plan; it waits for a decision";
  if (purpose === "rollback" && reason !== "") return reason;
  if (COMPLETE.has(phase) || isInProgress(deployment)) return "";
  return reason === "" ? `the run is ${phase}` : reason;
}
