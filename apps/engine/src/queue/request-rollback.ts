import { type RfsStack, type Run, Run_Mode, Run_Phase } from "@stackwright/proto/stackwright";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { defaultProject, projectPlace, requiresApproval } from "../domain/project-settings.ts";
import { type RunReference, stackPlace } from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addRun } from "./enqueue.ts";
import { readQueue } from "./stack-queue.ts";
import type { StoredRow, Transaction } from "./transaction.ts";

// Invariant: the run that goes back is requested in the transaction that ends the failed one, so that it exists exactly where that one
// failed, and once, whichever server or worker ends it.

/** Begins the cause of a run that goes back; the id of the failed run follows. */
export const ROLLBACK = "rollback:";

/** A deployment that failed, and the record of its stack. */
interface FailedDeployment {
  readonly reference: RunReference;
  readonly record: StoredRow<RfsStack>;
  readonly failed: Run;
  readonly actor: string;
}

/**
 * Takes a failed deployment of the RFS API back where its stack wants that. Called when it has left the queue: a run that waited behind
 * it comes first, and nothing is taken back then; neither is a run that was canceled.
 */
export async function requestRollback(
  tx: Transaction,
  reference: RunReference,
  { message: failed }: StoredRow<Run>,
): Promise<void> {
  const record = await tx.find(SERVER_KINDS.rfsStack, stackPlace(reference.stack));
  if (record === undefined) return;
  const { autoRollback, former } = record.message;
  if (!autoRollback || former?.run !== reference.run || failed.cancel !== undefined) return;
  if ((await readQueue(tx, reference.stack)).message.current !== "") return;
  const begins = failed.history.some(({ to }) => to === Run_Phase.PHASE_APPLYING);
  const given = { reference, record, failed, actor: failed.actor };
  if (begins) await addRollback(tx, given);
  else recordRollback(tx, given, { run: "", refusal: "" });
}

/** Requests the run that goes back to what was before a deployment; what keeps it from that is recorded. Returns its id. */
export async function addRollback(
  tx: Transaction,
  given: FailedDeployment,
): Promise<string | undefined> {
  const { reference, record, failed, actor } = given;
  const { stack, run: id } = reference;
  const { former, rollback } = record.message;
  if (former === undefined || (former.configuration === "" && !former.empty)) {
    recordRollback(tx, given, {
      run: "",
      refusal: "no deployment is known that was complete, and there were objects before this one",
    });
    return undefined;
  }
  const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
  const rules = project?.message ?? defaultProject(stack.project);
  const attempt = rollback?.deployment === id ? rollback.run : "";
  try {
    const { id: run } = await addRun(tx, {
      reference: { stack, run: derivedRunId(tx.nowMs, [ROLLBACK, stack.stack, id, attempt]) },
      stackName: former.stackName,
      configuration: former.empty ? failed.configuration : former.configuration,
      mode: former.empty ? Run_Mode.MODE_DESTROY : Run_Mode.MODE_APPLY,
      actor,
      cause: `${ROLLBACK}${id}`,
      message: `goes back to what was before the deployment ${id}`,
      ...(!requiresApproval(rules) && { autoApply: true }),
    });
    recordRollback(tx, given, { run, refusal: "" });
    return run;
  } catch (error) {
    // It refuses before it writes: how the deployment ended is recorded in any case.
    if (!isServerError(error)) throw error;
    recordRollback(tx, given, { run: "", refusal: error.message.slice(0, 1_024) });
    return undefined;
  }
}

/** The values of what the stack goes back to count for all its runs from then on. Those of a first deployment stay, for the run that destroys. */
function recordRollback(
  tx: Transaction,
  { reference: { run: deployment }, record }: FailedDeployment,
  outcome: { readonly run: string; readonly refusal: string },
): void {
  const { former } = record.message;
  const isBack = outcome.refusal === "" && former !== undefined && former.configuration !== "";
  tx.update(record, {
    rollback: { deployment, ...outcome },
    ...(isBack && {
      variables: former.variables,
      variablesRun: former.variablesRun,
      deploymentRun: former.deploymentRun,
    }),
  });
}
