import type { PlanSet, PlanSetMember, Run } from "@stackwright/proto/stackwright";
import { PlanSet_Phase } from "@stackwright/proto/stackwright";
import { isSetApprovalOver, isSetEnded } from "../domain/plan-set-phases.ts";
import { planSetPlace, type RunReference } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { StoredRow, Transaction } from "./transaction.ts";

type OfSet = Pick<Run, "id" | "planSet">;

/** The set of a run that has not ended; undefined for a run of none. */
async function openSetOf(
  tx: Transaction,
  { stack }: Pick<RunReference, "stack">,
  { planSet }: OfSet,
): Promise<StoredRow<PlanSet> | undefined> {
  if (planSet === "") return undefined;
  const row = await tx.find(SERVER_KINDS.planSet, planSetPlace(stack, planSet));
  return row === undefined || isSetEnded(row.message.phase) ? undefined : row;
}

/** The members of a set, one of them changed. */
export function withMember(
  members: readonly PlanSetMember[],
  run: string,
  change: Partial<PlanSetMember>,
): PlanSetMember[] {
  return members.map((member) => (member.run === run ? { ...member, ...change } : member));
}

/** The name of the stack whose plan the run of a set has to wait for; undefined where it waits for none. The batch fails if that changes. */
export async function awaitedPlan(
  tx: Transaction,
  reference: Pick<RunReference, "stack">,
  run: OfSet,
): Promise<string | undefined> {
  const row = await openSetOf(tx, reference, run);
  if (row === undefined) return undefined;
  const { members } = row.message;
  const waitsFor = members.find((member) => member.run === run.id)?.waitsFor ?? "";
  if (waitsFor === "") return undefined;
  tx.guardRow(row);
  return members.find(({ stack }) => stack === waitsFor)?.stackName;
}

/** Forgets what a former attempt to plan the run of a set waited for. */
export async function forgetAwaitedPlan(
  tx: Transaction,
  reference: Pick<RunReference, "stack">,
  run: OfSet,
): Promise<void> {
  const row = await openSetOf(tx, reference, run);
  const member = row?.message.members.find((one) => one.run === run.id);
  if (row === undefined || member === undefined || member.waitsFor === "") return;
  tx.update(row, { members: withMember(row.message.members, run.id, { waitsFor: "" }) });
}

/** Whether a run waits to be applied with its set, which is approved: a newer run does not end it. The batch fails if that changes. */
export async function isApprovedWithSet(
  tx: Transaction,
  reference: Pick<RunReference, "stack">,
  run: OfSet,
): Promise<boolean> {
  const row = await openSetOf(tx, reference, run);
  if (row === undefined) return false;
  // Also where it is not approved yet, which it may be at this moment.
  tx.guardRow(row);
  return row.message.phase === PlanSet_Phase.PHASE_APPLYING;
}

/** Refuses to begin the apply of a run whose set has ended. The batch fails if that changes. */
export async function requireOpenSet(
  tx: Transaction,
  reference: Pick<RunReference, "stack">,
  run: OfSet,
): Promise<void> {
  if (run.planSet === "") return;
  const row = await openSetOf(tx, reference, run);
  if (row === undefined) {
    throw new ServerError("illegal_transition", `the plan set ${run.planSet} has ended`);
  }
  tx.guardRow(row);
}

/** `approval_expired` for a run whose set has waited for too long. The batch fails if that changes. */
export async function requireSetTime(
  tx: Transaction,
  reference: Pick<RunReference, "stack">,
  run: OfSet,
): Promise<void> {
  const row = await openSetOf(tx, reference, run);
  if (row === undefined) return;
  if (isSetApprovalOver(row.message, tx.nowMs)) {
    throw new ServerError(
      "approval_expired",
      `the plans of the plan set ${run.planSet} have waited for too long; request another set`,
    );
  }
  tx.guardRow(row);
}

/** `conflict` for a run that is approved with its set alone. */
export function requireNoSet({ planSet }: Pick<Run, "planSet">): void {
  if (planSet === "") return;
  throw new ServerError(
    "conflict",
    `the run is of the plan set ${planSet}, whose plans are approved together; approve the set`,
  );
}
