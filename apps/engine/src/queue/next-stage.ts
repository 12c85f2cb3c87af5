import { MAX_STAGES } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { projectPlace, requiresApproval } from "../domain/project-settings.ts";
import type { RunReference } from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addRun } from "./enqueue.ts";
import { readQueue } from "./stack-queue.ts";
import type { StoredRow, Transaction } from "./transaction.ts";

// Invariant: the run of the next stage is requested in the transaction that ends the stage before it as applied, so that it exists
// exactly where that one is applied, and once.

const NEXT_STAGE = "stage:";

/** Whether the plan of a run left something to a later stage. */
export function leavesParts({ stage }: Pick<Run, "stage">): boolean {
  return (stage?.left ?? []).length > 0;
}

/** Requests the run of the stage after an applied one, where it left something; what keeps it from that becomes the reason of the run. */
export async function requestNextStage(
  tx: Transaction,
  { stack, run: id }: RunReference,
  row: StoredRow<Run>,
  stackName: string,
): Promise<void> {
  const { message: run } = row;
  const { stage } = run;
  if (stage === undefined || stage.left.length === 0) return;
  const refuse = (why: string): void =>
    tx.update(row, { reason: `the next stage was not requested: ${why}`.slice(0, 4_096) });
  // All of the stage was done by the time its executor heard of it.
  if (run.cancel !== undefined) return refuse(`the run was canceled by ${run.cancel.actor}`);
  // An executor says what is left, and may say so without end.
  if (stage.number >= MAX_STAGES) return refuse(`stages are limited to ${MAX_STAGES}`);
  const project = (await tx.find(SERVER_KINDS.project, projectPlace(stack)))?.message;
  const isRefused = project !== undefined && requiresApproval(project);
  // Behind a run that comes first, which may destroy what this one made, or apply a part of another configuration: somebody looks at the plan.
  const isBehind = (await readQueue(tx, stack)).message.current !== "";
  const autoApply = run.autoApply && !isRefused && !isBehind;
  try {
    const next = await addRun(tx, {
      reference: { stack, run: derivedRunId(tx.nowMs, [NEXT_STAGE, stack.stack, id]) },
      stackName,
      configuration: run.configuration,
      mode: run.mode,
      actor: run.actor,
      // It ends no run that was requested meanwhile, and is of what was applied last.
      automatic: true,
      cause: `${NEXT_STAGE}${id}`,
      message: run.message,
      ...((run.autoApplyRequested || isBehind) && { autoApply }),
      background: run.background,
      targets: run.targets,
      replace: stage.replace,
      traceParent: run.applyTraceParent === "" ? run.traceParent : run.applyTraceParent,
      stage: { number: stage.number + 1, previous: id, before: stage.left },
    });
    tx.update(row, { stage: { ...stage, next: next.id } });
  } catch (error) {
    // It refuses before it writes: what was applied is recorded in any case.
    if (!isServerError(error)) throw error;
    refuse(error.message);
  }
}
