import type { RevisionEntry } from "@stackwright/core";
import type { ExecutionResult } from "./execution-job.ts";

/** How a run ended whose head is closed; only its entry in the history says how, where there is one. */
export function endOfHistory(entry: RevisionEntry | undefined): ExecutionResult {
  if (entry === undefined) {
    return {
      phase: "failed",
      reason: "the worker was lost before the apply changed anything",
      reasonCode: "worker_lost",
    };
  }
  const { status } = entry;
  const revision = entry.revision.toString();
  if (status === "applied") return { phase: status, revision };
  if (status === "canceled" && leftAllAsItWas(entry)) {
    return {
      phase: "failed",
      revision,
      reason: "the worker was lost before the apply changed anything",
      reasonCode: "worker_lost",
    };
  }
  return {
    // An executor whose worker is lost stops by itself: that is no request of a user to cancel.
    phase: status === undefined || status === "canceled" ? "partially_applied" : status,
    revision,
    reason: "the worker was lost after the apply ended, before its result was recorded",
    reasonCode: "result_lost",
  };
}

/** Whether a run that has ended wrote no object: at most what it found of conditions. */
export function leftAllAsItWas({ changed, complete }: RevisionEntry): boolean {
  return complete && changed === 0;
}
