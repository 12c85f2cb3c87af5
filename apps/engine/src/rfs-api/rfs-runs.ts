import { isEnded, type StackReference } from "@stackwright/core";
import { type RfsStack, type Run, Run_Mode, Run_Phase } from "@stackwright/proto/stackwright";
import type { RfsDeployment } from "@stackwright/rfs-stacks";
import type { StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, runPlace } from "../domain/run-places.ts";
import { isSpeculative, phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import type { Transaction } from "../queue/transaction.ts";

/** The runs of a stack that change it, newest first: no plans that nothing applied. */
export async function deploymentsOf(
  storage: StorageBackend,
  stack: StackReference,
): Promise<readonly Run[]> {
  const { tenancy, name: prefix } = memberPlace(stack, "");
  const found = await storage.list("strong", RUN_KIND.type, tenancy, prefix);
  return found
    .map((resource) => decodeRecord(RUN_KIND, resource))
    .filter((run) => !isSpeculative(run) && !isUnappliedPlan(run))
    .toSorted((a, b) => Number(b.createdAtMs - a.createdAtMs) || (a.id < b.id ? 1 : -1));
}

/** Whether a run is a plan that was made to be applied later, and was not. */
function isUnappliedPlan({ savedPlan, history }: Run): boolean {
  return savedPlan && !history.some(({ to }) => to === Run_Phase.PHASE_APPROVED);
}

/** The newest of the runs of a stack as what the stack is; the run that takes a failed one back stands for it. */
export function deploymentView(
  runs: readonly Run[],
  { deletionRun, rollback }: Pick<RfsStack, "deletionRun" | "rollback">,
): RfsDeployment | undefined {
  const [newest] = runs;
  if (newest === undefined) return undefined;
  const { id, reason } = newest;
  const phase = phaseOf(newest);
  if (rollback !== undefined && [rollback.run, rollback.deployment].includes(id)) {
    const { deployment, run, refusal } = rollback;
    const why = runs.find((one) => one.id === deployment)?.reason ?? "";
    const failure = `the deployment ${deployment} failed${why === "" ? "" : `: ${why}`}`;
    const view = { id, purpose: "rollback" } as const;
    if (refusal !== "") {
      return { ...view, phase: "failed", reason: `${failure}; it was not taken back: ${refusal}` };
    }
    if (run === "") {
      return { ...view, phase: "no_changes", reason: `${failure}; it had changed nothing` };
    }
    if (id === run) {
      const own = reason === "" ? "" : `; what takes it back: ${reason}`;
      return { ...view, phase, reason: `${failure}${own}` };
    }
  }
  return { id, phase, purpose: id === deletionRun ? "deletion" : "deployment", reason };
}

/** A run that has a configuration which may be deployed again. */
export function isOfConfiguration({ configuration, mode }: Run): boolean {
  return configuration !== "" && mode === Run_Mode.MODE_APPLY;
}

/** Whether no run of a stack is in progress: a plan that waits to be applied keeps nothing out. The step fails where one comes meanwhile. */
export async function isIdle(tx: Transaction, stack: StackReference): Promise<boolean> {
  const { current, pending } = (await readQueue(tx, stack)).message;
  if (pending.length > 0) return false;
  if (current === "") return true;
  const run = await tx.find(RUN_KIND, runPlace({ stack, run: current }));
  if (run === undefined) return true;
  const phase = phaseOf(run.message);
  const isWaiting = phase === "awaiting_approval" || phase === "policy_failed";
  return isEnded(phase) || (run.message.savedPlan && isWaiting);
}
