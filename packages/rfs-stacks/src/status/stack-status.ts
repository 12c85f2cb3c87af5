import type { RfsDeployment, RfsRunPhase, RfsStack } from "../port/stack-port.ts";

/** Statuses of stacks that this server has: it rolls nothing back. */
type StackStatus =
  | "CREATION_COMPLETE"
  | "DEPLOYMENT_IN_PROGRESS"
  | "DEPLOYMENT_FAILED"
  | "DEPLOYMENT_COMPLETE"
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
  const { phase, isDeletion } = deployment;
  if (isInProgress(deployment))
    return isDeletion ? "DELETION_IN_PROGRESS" : "DEPLOYMENT_IN_PROGRESS";
  if (isDeletion) return "DELETION_FAILED";
  if (phase === "rolled_back") return "ROLLBACK_COMPLETE";
  return COMPLETE.has(phase) ? "DEPLOYMENT_COMPLETE" : "DEPLOYMENT_FAILED";
}

export function isInProgress({ phase }: Pick<RfsDeployment, "phase">): boolean {
  return IN_PROGRESS.has(phase);
}

/** What there is to say about a status: why a run failed, or what it waits for. */
export function statusMessage({ deployment }: Pick<RfsStack, "deployment">): string {
  if (deployment === undefined) return "";
  const { phase, reason } = deployment;
  if (phase === "awaiting_approval") return "the plan waits for an approval";
  if (phase === "policy_failed") return "policies forbid the plan; it waits for a decision";
  if (COMPLETE.has(phase) || isInProgress(deployment)) return "";
  return reason === "" ? `the run is ${phase}` : reason;
}
