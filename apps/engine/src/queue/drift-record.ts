import type { StackReference } from "@stackwright/core";
import {
  type DriftRule,
  DriftRule_Reaction,
  type Project,
  type Run,
  Run_Mode,
  StackDrift,
} from "@stackwright/proto/stackwright";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { allDriftOf, touchesIgnored } from "../domain/drift-ignore.ts";
import {
  DRIFT_CHECK,
  DRIFT_REMEDY,
  DRIFT_REPORT,
  driftRuleOf,
  isAppliedReaction,
} from "../domain/drift-rule.ts";
import { type FoundDrift, NO_DRIFT } from "../domain/found-drift.ts";
import { projectPlace, requiresApproval } from "../domain/project-settings.ts";
import {
  memberPlace,
  RUN_KIND,
  type RunReference,
  STACK_HEAD_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { recordCount } from "./count-drift.ts";
import { addRun } from "./enqueue.ts";
import { noteEvent } from "./note-event.ts";
import { readQueue } from "./stack-queue.ts";
import type { Row, StoredRow, Transaction } from "./transaction.ts";

// Invariants:
// - What a check found is recorded in the step that ends its run, and only if the state is still the one that it compared: of what was applied
//   meanwhile it knows nothing. So an apply and a check at the same time never leave drift that the apply has removed.
// - A run that is to remove or to record drift is requested where no other run has the stack, and once for the same drift; and for what a check
//   found that was requested by the rule, or by a user who may apply.

/** When a check is repeated whose state was replaced meanwhile. */
const REPEAT_AFTER_MS = 60_000;

/** The author of runs by the rule of a project. */
export const DRIFT_ACTOR = "server";

/** Whether a run looks for drift, and does nothing else. */
export function isDriftCheck({ cause }: Pick<Run, "cause">): boolean {
  return cause.startsWith(DRIFT_CHECK);
}

/** The record of the drift of a stack. */
export async function readDrift(
  tx: Transaction,
  stack: StackReference,
  stackName = "",
): Promise<Row<StackDrift>> {
  return tx.findOrNew(SERVER_KINDS.drift, stackPlace(stack), () =>
    StackDrift.create({ stackName }),
  );
}

/** Records what a check found, in the step that ends its run. */
export async function recordDrift(
  tx: Transaction,
  { stack, run: id }: RunReference,
  run: Run,
  { found, revision }: { readonly found: FoundDrift | undefined; readonly revision: bigint },
): Promise<void> {
  const row = await tx.find(SERVER_KINDS.drift, stackPlace(stack));
  // A newer check has taken its place, or the stack is not checked any more.
  if (row === undefined || row.message.check !== id) return;
  if (found === undefined) {
    const lastProblem = "the worker is of an older release, which finds no drift";
    tx.update(row, { check: "", lastProblem });
    return;
  }
  if (!(await isStill(tx, stack, run, revision))) {
    const nextAtMs = BigInt(tx.nowMs + REPEAT_AFTER_MS);
    const lastProblem = "the stack was applied during the check; it is repeated";
    tx.update(row, { check: "", lastProblem, nextAtMs });
    return;
  }
  const isPart = run.targets.length > 0;
  const all = isPart ? withPart(row.message, run.targets, found) : found;
  const { isDrifted, isSame, drifted, ignored } = recordCount(tx, row, all);
  tx.update(row, {
    check: "",
    lastProblem: "",
    // Of the others nothing is known since then.
    checkedAtMs: isPart ? row.message.checkedAtMs : BigInt(tx.nowMs),
    run: id,
  });
  if (isDrifted && !isSame) {
    const facts = { run: id, runNumber: run.number, drifted, ignored };
    await noteEvent(tx, { event: "drift.found", stack, ...facts });
  }
  if (isDrifted) await requestRemedy(tx, stack, row, run);
}

/** What is known of all objects after a check of some: of drift beyond what is named it is not known which objects it is of, and it stays. */
function withPart(known: StackDrift, targets: readonly string[], found: FoundDrift): FoundDrift {
  const { changed, deleted, objects } = allDriftOf(known);
  const checked = new Set([...targets, ...found.objects.map(({ address }) => address)]);
  const replaced = objects.filter(({ address }) => checked.has(address));
  const gone = replaced.filter((one) => one.deleted).length;
  return {
    changed: changed - (replaced.length - gone) + found.changed,
    deleted: deleted - gone + found.deleted,
    objects: [...found.objects, ...objects.filter(({ address }) => !checked.has(address))].toSorted(
      (a, b) => (a.address < b.address ? -1 : 1),
    ),
  };
}

/** Keeps why a check found nothing out. */
export async function recordFailedCheck(
  tx: Transaction,
  { stack, run }: RunReference,
  reason: string,
): Promise<void> {
  const row = await tx.find(SERVER_KINDS.drift, stackPlace(stack));
  if (row?.message.check !== run) return;
  tx.update(row, { check: "", lastProblem: reason.slice(0, 1_024) });
}

/** Forgets the drift of a stack that was applied as a whole, after all of it was read. */
export async function clearDrift(tx: Transaction, stack: StackReference, run: Run): Promise<void> {
  if (run.targets.length > 0 || run.skipRefresh) return;
  const row = await tx.find(SERVER_KINDS.drift, stackPlace(stack));
  if (row === undefined) return;
  const { sinceMs, ignoredChanged, ignoredDeleted } = row.message;
  if (sinceMs === 0n && ignoredChanged + ignoredDeleted === 0) return;
  recordCount(tx, row, NO_DRIFT);
}

/** Whether the state of a stack is the one that a check compared, and stays so until the batch is written. */
async function isStill(
  tx: Transaction,
  stack: StackReference,
  { tool }: Run,
  revision: bigint,
): Promise<boolean> {
  const place = stackPlace(stack);
  if (tool !== "") {
    const kept = await tx.find(SERVER_KINDS.keptState, place);
    if (kept === undefined) tx.guardAbsent(SERVER_KINDS.keptState, place);
    else tx.guardRow(kept);
    return (kept?.message.current ?? 0n) === revision;
  }
  const head = await tx.find(STACK_HEAD_KIND, place);
  if (head === undefined) tx.guardAbsent(STACK_HEAD_KIND, place);
  else tx.guardRow(head);
  return (head?.message.revision ?? 0n) === revision && (head?.message.run ?? "") === "";
}

/** Requests the run that the rule of a stack asks for where drift was found; what keeps one from it stays with the record. */
async function requestRemedy(
  tx: Transaction,
  stack: StackReference,
  row: StoredRow<StackDrift>,
  check: Run,
): Promise<void> {
  const { message: drift } = row;
  const project = (await tx.find(SERVER_KINDS.project, projectPlace(stack)))?.message;
  const rule = driftRuleOf(drift, project);
  if (rule === undefined || rule.reaction === DriftRule_Reaction.REACTION_UNSPECIFIED) return;
  if (check.cause.startsWith(DRIFT_REPORT)) {
    const lastProblem =
      "who requested the check may only plan: a run is requested for what it found after the next check by the rule";
    tx.update(row, { lastProblem });
    return;
  }
  if (drift.remedy !== "") {
    const former = await tx.find(RUN_KIND, memberPlace(stack, drift.remedy));
    const which = former === undefined ? drift.remedy : String(former.message.number);
    tx.update(row, { lastProblem: `the run ${which} was requested for it, and left it` });
    return;
  }
  const { current, pending, configuration } = (await readQueue(tx, stack)).message;
  if (current !== "" || pending.length > 0) {
    const lastProblem = "another run of the stack has not ended, so none was requested for it";
    tx.update(row, { lastProblem });
    return;
  }
  const accepts = rule.reaction === DriftRule_Reaction.REACTION_ACCEPT;
  try {
    const made = await addRun(tx, {
      reference: { stack, run: derivedRunId(tx.nowMs, [DRIFT_REMEDY, stack.stack, check.id]) },
      stackName: drift.stackName,
      configuration,
      mode: accepts ? Run_Mode.MODE_REFRESH_ONLY : Run_Mode.MODE_APPLY,
      actor: drift.actor || DRIFT_ACTOR,
      automatic: true,
      cause: `${DRIFT_REMEDY}${check.id}`,
      message: `${accepts ? "Records" : "Removes"} the drift that run ${check.number} found`,
      ...remedyRules(rule, project, touchesIgnored(drift)),
    });
    tx.update(row, { remedy: made.id });
  } catch (error) {
    // It refuses before it writes: what was found is recorded in any case.
    if (!isServerError(error)) throw error;
    tx.update(row, { lastProblem: error.message.slice(0, 1_024) });
  }
}

/**
 * A plan that waits for approval keeps no other run out; it is applied without one where both the rule and the project say so, and a user
 * has let nothing be that it would undo with the rest.
 */
function remedyRules(
  rule: DriftRule,
  project: Project | undefined,
  isOfIgnored: boolean,
): { readonly autoApply: boolean; readonly savedPlan: boolean } {
  const wantsApproval = isOfIgnored || (project !== undefined && requiresApproval(project));
  const autoApply = isAppliedReaction(rule) && !wantsApproval;
  return { autoApply, savedPlan: !autoApply };
}
