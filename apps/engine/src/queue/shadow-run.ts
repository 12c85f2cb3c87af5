import { PlanComparison, PlanComparison_Outcome, type Run } from "@stackwright/proto/stackwright";
import type { ComparedPlans } from "../domain/compared-plans.ts";
import { type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type RunClaim, requireClaim } from "./claim.ts";
import { addRun } from "./enqueue.ts";
import { move, readRun, requireAt } from "./run-row.ts";
import { leaveQueue, readQueue } from "./stack-queue.ts";
import { isOutside, readStackTool } from "./stack-tool.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

// The plan of a tool is compared with that of the engine by a run of its own, which only plans: it has a ticket, bounds and a log as any
// other, and the run of the tool does not wait for it.

/** Runs of a stack that only plan, beyond which no further one is made to compare. */
const MAX_OPEN = 10;

/** What is compared. */
export interface ShadowedPlan {
  /** Id of the run that is requested. */
  readonly shadowRun: string;
  readonly stackName: string;
  readonly planDigest: string;
  /** Of the state version that the plan was made from. */
  readonly stateNumber: bigint;
}

/** Requests a plan of the engine beside that of a tool, where the stack wants one. */
export async function requestShadow(
  tx: Transaction,
  reference: RunReference,
  run: Run,
  { shadowRun, stackName, planDigest, stateNumber }: ShadowedPlan,
): Promise<void> {
  const { message: tool } = await readStackTool(tx, reference.stack);
  if (!tool.shadow || !isOutside(tool) || run.shadowOf !== "") return;
  const queue = await readQueue(tx, reference.stack);
  if (queue.message.speculative.length >= MAX_OPEN) return;
  const made = await addRun(tx, {
    reference: { stack: reference.stack, run: shadowRun },
    stackName,
    configuration: run.configuration,
    mode: run.mode,
    actor: run.actor,
    cause: `shadow:${reference.run}`,
    message: `Compares the plan of run ${run.number}`,
    autoApply: false,
    background: true,
    targets: run.targets,
    replace: run.replace,
    planOnly: true,
    skipRefresh: run.skipRefresh,
    shadowOf: reference.run,
    traceParent: run.traceParent,
  });
  const row = await tx.findOrNew(SERVER_KINDS.comparison, runPlace(reference), () =>
    PlanComparison.create(),
  );
  tx.update(row, {
    shadowRun: made.id,
    outcome: PlanComparison_Outcome.OUTCOME_UNSPECIFIED,
    planDigest,
    stateNumber,
    number: run.number,
    atMs: BigInt(tx.nowMs),
  });
}

/** What a shadow found: differences, or why it has made no plan. */
type ShadowEnd = ComparedPlans | { readonly reason: string; readonly reasonCode: string };

/** Ends the run of a shadow, and counts equal plans in a row. */
export async function endShadow(
  parts: TransactionParts,
  claim: RunClaim,
  end: ShadowEnd,
): Promise<void> {
  await transact(parts, async (tx) => {
    const ticket = await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, claim.reference), "preparing", "planning");
    const { message } = run.row;
    const { stack } = claim.reference;
    await recordShadow(tx, { stack, run: message.shadowOf }, message.id, end);
    if ("reason" in end) await move(tx, run, "failed", claim.worker.id, end);
    else await endPlanned(tx, claim, end);
    tx.remove(ticket);
    await leaveQueue(tx, claim.reference);
  });
}

async function endPlanned(
  tx: Transaction,
  claim: RunClaim,
  { differing, compared }: ComparedPlans,
): Promise<void> {
  const run = requireAt(await readRun(tx, claim.reference), "planning");
  const planned = await move(tx, run, "planned", claim.worker.id);
  const reason =
    differing === 0
      ? `the plans are equal in ${compared} objects and outputs`
      : `the plans differ in ${differing} places`;
  await move(tx, planned, "plan_finished", claim.worker.id, { reason });
}

/** Records what a shadow found, unless a newer one has taken its place. */
async function recordShadow(
  tx: Transaction,
  reference: RunReference,
  shadowRun: string,
  end: ShadowEnd,
): Promise<void> {
  const row = await tx.find(SERVER_KINDS.comparison, runPlace(reference));
  if (row === undefined || row.message.shadowRun !== shadowRun) return;
  const isFailed = "reason" in end;
  const isEqual = !isFailed && end.differing === 0;
  const { OUTCOME_EQUAL, OUTCOME_DIFFERENT, OUTCOME_FAILED } = PlanComparison_Outcome;
  tx.update(row, {
    ...(isFailed
      ? { outcome: OUTCOME_FAILED, reason: end.reason.slice(0, 1_024) }
      : {
          outcome: isEqual ? OUTCOME_EQUAL : OUTCOME_DIFFERENT,
          compared: end.compared,
          differing: end.differing,
          differences: end.differences.map(({ address, path, ours, theirs }) => ({
            address,
            path,
            ours,
            theirs,
          })),
        }),
    atMs: BigInt(tx.nowMs),
  });
  const tool = await readStackTool(tx, reference.stack);
  // Shadows may end in another order than their runs: an older one changes nothing that a newer one said.
  const { number } = row.message;
  if (!isOutside(tool.message) || number <= tool.message.comparedNumber) return;
  tx.update(tool, { comparedNumber: number, equal: isEqual ? tool.message.equal + 1 : 0 });
}
