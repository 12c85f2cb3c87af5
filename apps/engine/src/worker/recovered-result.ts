import type { Run } from "@stackwright/proto/stackwright";
import type { ExecutionResult } from "../executor/execution-job.ts";
import { canceledReason } from "../queue/cancel-reason.ts";

type Ended = Exclude<ExecutionResult, { readonly phase: "interrupted" }>;

/**
 * How a run ends that was recovered. A cancel that was requested before its worker was lost stays its reason, as the executor of the
 * recovery does not know of it: where the apply had not changed anything by then, the run is canceled.
 */
export function recoveredResult(result: Ended, { cancel }: Pick<Run, "cancel">): Ended {
  if (cancel === undefined) return result;
  if (result.phase === "partially_applied") {
    return { ...result, reason: canceledReason(cancel, result.reason) };
  }
  if (result.phase !== "failed" || result.reasonCode !== "worker_lost") return result;
  const { revision } = result;
  const reason = canceledReason(cancel);
  return { phase: "canceled", reason, ...(revision !== undefined && { revision }) };
}
