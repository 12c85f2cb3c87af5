import { isEnded } from "@stackwright/core";
import { type PlanSetMember, Run_Mode } from "@stackwright/proto/stackwright";
import { isSetEnded } from "../domain/plan-set-phases.ts";
import { planSetPlace, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import { phaseOf, readRun } from "../queue/run-row.ts";
import { withMember } from "../queue/set-member.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { isSettledGood } from "./member-phase.ts";
import { runOfMember } from "./plan-set-reference.ts";
import { wayBetween } from "./set-order.ts";

/** How a stack is read by the plan of another one. */
type PlannedRead =
  /** It is in no set with the reader, or its plan changes nothing: as it is. */
  | { readonly kind: "as-is" }
  /** By its plan. */
  | {
      readonly kind: "planned";
      readonly reference: RunReference;
      readonly name: string;
      readonly planDigest: string;
      readonly baseRevision: bigint;
    }
  /** Not yet: its plan is made first. */
  | { readonly kind: "waits" }
  /** It reads the reader. */
  | { readonly kind: "circle"; readonly names: readonly string[] }
  /** It has no plan, and will have none. */
  | { readonly kind: "failed" };

/**
 * Notes that the plan of a claim reads another stack of its set, and says how it does. The note orders the applies; one that waits makes
 * the run be planned again once the other stack is planned.
 */
export async function notePlannedRead(
  parts: TransactionParts,
  claim: RunClaim,
  name: string,
): Promise<PlannedRead> {
  return transact(parts, async (tx): Promise<PlannedRead> => {
    await requireClaim(tx, claim);
    const { planSet, id } = (await readRun(tx, claim.reference)).row.message;
    if (planSet === "") return { kind: "as-is" };
    const { account, project } = claim.reference.stack;
    const row = await tx.find(SERVER_KINDS.planSet, planSetPlace({ account, project }, planSet));
    if (row === undefined || isSetEnded(row.message.phase)) return { kind: "failed" };
    const { members, mode } = row.message;
    // What is destroyed reads what is there: the others of the set are destroyed after it.
    if (mode === Run_Mode.MODE_DESTROY) return { kind: "as-is" };
    const reader = members.find(({ run }) => run === id);
    const other = members.find(({ stackName }) => stackName === name);
    // That a stack cannot read itself is said where it reads.
    if (reader === undefined || other === undefined || other === reader) return { kind: "as-is" };
    const way = wayBetween(members, other.stack, reader.stack);
    if (way !== undefined) return { kind: "circle", names: [reader.stackName, ...way] };
    const found = await readOther(
      tx,
      runOfMember({ project: { account, project }, set: planSet }, other),
      other,
    );
    const waitsFor = found.kind === "waits" ? other.stack : "";
    const reads = [...new Set([...reader.reads, other.stack])];
    if (waitsFor !== reader.waitsFor || reads.length !== reader.reads.length) {
      tx.update(row, { members: withMember(members, id, { waitsFor, reads }) });
    }
    return found;
  });
}

async function readOther(
  tx: Transaction,
  reference: RunReference,
  { stackName: name }: PlanSetMember,
): Promise<PlannedRead> {
  const run = await tx.find(RUN_KIND, runPlace(reference));
  if (run === undefined) return { kind: "waits" };
  const phase = phaseOf(run.message);
  const { planDigest, baseRevision } = run.message;
  if (phase === "no_changes") return { kind: "as-is" };
  if (isEnded(phase) && !isSettledGood(phase)) return { kind: "failed" };
  if (planDigest === "") return { kind: "waits" };
  return { kind: "planned", reference, name, planDigest, baseRevision };
}
