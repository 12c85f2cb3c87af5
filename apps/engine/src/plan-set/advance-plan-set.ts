import { createHash } from "node:crypto";
import { isEnded, type RunPhase } from "@stackwright/core";
import {
  type PlanSet,
  PlanSet_Phase,
  type PlanSetMember,
  type Run,
  Run_Mode,
  RunTicket_Class,
  RunTicket_Step,
} from "@stackwright/proto/stackwright";
import { APPROVAL_GRACE_MS, approvalTimesOf } from "../domain/approval-time.ts";
import { isSetApprovalOver, isSetEnded } from "../domain/plan-set-phases.ts";
import { projectPlace } from "../domain/project-settings.ts";
import {
  memberPlace,
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_PLAN_KIND,
  ticketPlace,
} from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "../queue/append-events.ts";
import { cancelRun } from "../queue/cancel.ts";
import { discardRun } from "../queue/decide.ts";
import { addRun } from "../queue/enqueue.ts";
import { APPROVAL_EXPIRED } from "../queue/expire-approval.ts";
import { isAt, move, phaseOf } from "../queue/run-row.ts";
import { withMember } from "../queue/set-member.ts";
import { freeTicket, readQueue } from "../queue/stack-queue.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { isSettledGood } from "./member-phase.ts";
import { type PlanSetReference, placeOfSet, runOfMember } from "./plan-set-reference.ts";
import { inOrder } from "./set-order.ts";

// The record of a set says what is to become of its runs; this brings them there, one small step after the other, from any caller and
// however often: a request, the end of a step of one of its runs, and for repair the sweep of every worker. A step reads the set and all of its
// runs, and writes both in one batch, so that any number of servers may do it at once.

/** Who does what no user asked for. */
const ACTOR = "server";

/** Steps of one call; each is one of a member, of which a set has few. */
const MAX_STEPS = 200;

/** A member with its run; undefined before that is requested. */
interface MemberRun {
  readonly member: PlanSetMember;
  readonly reference: RunReference;
  readonly row: StoredRow<Run> | undefined;
}

/** What a step came to. */
type Step =
  | { readonly kind: "again" }
  | { readonly kind: "rest" }
  /** The set has ended, and these runs of it have not. */
  | { readonly kind: "end"; readonly runs: readonly RunReference[]; readonly why: EndOfMembers };

/** Why the runs of a set end with it. */
type EndOfMembers = Pick<PlanSet, "reason" | "reasonCode">;

interface SetOptions {
  /** Whether a set ends here whose time for an approval is over: not by a clock that is wrong. @default false */
  readonly mayExpire?: boolean;
}

/** Brings the runs of a set to where the set is, as far as that is possible now. */
export async function advancePlanSet(
  parts: TransactionParts,
  reference: PlanSetReference,
  { mayExpire = false }: SetOptions = {},
): Promise<void> {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const step = await transact(parts, async (tx) => stepOf(tx, reference, mayExpire));
    if (step.kind === "rest") return;
    if (step.kind === "again") continue;
    for (const run of step.runs) await endMember(parts, run, step.why);
    // What a worker still executes is looked at again once it ends.
    await transact(parts, async (tx) => stepOf(tx, reference, mayExpire));
    return;
  }
}

async function stepOf(
  tx: Transaction,
  reference: PlanSetReference,
  mayExpire: boolean,
): Promise<Step> {
  const row = await tx.find(SERVER_KINDS.planSet, placeOfSet(reference));
  if (row === undefined || row.message.settled) return { kind: "rest" };
  const runs: MemberRun[] = [];
  for (const member of row.message.members) {
    const run = runOfMember(reference, member);
    runs.push({ member, reference: run, row: await tx.find(RUN_KIND, runPlace(run)) });
  }
  if (isSetEnded(row.message.phase)) return settle(tx, row, runs);
  const bad = runs.find((one) => {
    const phase = phaseIn(one);
    return phase !== undefined && isEnded(phase) && !isSettledGood(phase);
  });
  if (bad?.row !== undefined) {
    // What began to be applied is not left half done for another stack: it comes to its end first, and nothing more begins.
    if (runs.some((one) => phaseIn(one) === "applying")) return { kind: "rest" };
    // One that begins at this moment makes the batch fail.
    for (const { row: run } of runs) {
      if (run !== undefined && phaseOf(run.message) === "approved") tx.guardRow(run);
    }
    return endSet(tx, row, endOf(bad.member, bad.row.message));
  }
  const { phase } = row.message;
  if (phase === PlanSet_Phase.PHASE_PLANNING) {
    // Later none is requested: one that is missing then has ended long ago and is not kept, and a new plan of it would be approved unseen.
    const missing = runs.find((one) => one.row === undefined);
    if (missing !== undefined) return request(tx, row, missing);
    const step = (await planNext(tx, row, runs)) ?? (await allPlanned(tx, row, runs));
    if (step.kind !== "rest" || !mayExpire) return step;
    return expire(tx, row);
  }
  if (phase === PlanSet_Phase.PHASE_AWAITING_APPROVAL && mayExpire) return expire(tx, row);
  if (phase === PlanSet_Phase.PHASE_APPLYING) return applyNext(tx, row, runs);
  return { kind: "rest" };
}

function phaseIn({ row }: MemberRun): RunPhase | undefined {
  return row && phaseOf(row.message);
}

/** What is left of a set that has ended. */
function settle(tx: Transaction, row: StoredRow<PlanSet>, runs: readonly MemberRun[]): Step {
  const open = runs.filter((one) => {
    const phase = phaseIn(one);
    return phase !== undefined && !isEnded(phase);
  });
  if (open.length > 0) {
    const { id, reason, reasonCode } = row.message;
    const why = { reason: `the plan set ${id} has ended: ${reason}`, reasonCode };
    // One that is asked to end already is not asked again: a second request would end its executor in the middle of a call.
    const asked = open.filter((one) => one.row?.message.cancel === undefined);
    if (asked.length === 0) return { kind: "rest" };
    return { kind: "end", runs: asked.map(({ reference }) => reference), why };
  }
  tx.update(row, { settled: true, updatedAtMs: BigInt(tx.nowMs) });
  return { kind: "rest" };
}

function endSet(
  tx: Transaction,
  row: StoredRow<PlanSet>,
  end: Partial<EndOfMembers> & { readonly phase: PlanSet_Phase },
): Step {
  tx.update(row, { ...end, updatedAtMs: BigInt(tx.nowMs) });
  return { kind: "again" };
}

const MAX_REASON = 2_048;

/** How a set ends with one of its runs. */
function endOf(
  { stackName }: PlanSetMember,
  { id, phase, reason, reasonCode }: Run,
): Partial<EndOfMembers> & { readonly phase: PlanSet_Phase } {
  const name = phaseOf({ id, phase });
  const why = reason === "" ? "" : `: ${reason}`;
  const text = `the run of the stack ${stackName} is ${name}${why}`.slice(0, MAX_REASON);
  if (name === "canceled") return { phase: PlanSet_Phase.PHASE_CANCELED, reason: text };
  if (name === "discarded") {
    // Its approval, which is that of the set, was over before its apply began.
    const code = reasonCode === APPROVAL_EXPIRED ? reasonCode : "";
    return { phase: PlanSet_Phase.PHASE_DISCARDED, reason: text, reasonCode: code };
  }
  return { phase: PlanSet_Phase.PHASE_FAILED, reason: text };
}

/** Requests the run of a member. */
async function request(
  tx: Transaction,
  row: StoredRow<PlanSet>,
  { member, reference }: MemberRun,
): Promise<Step> {
  const { id, mode, actor, message, traceParent } = row.message;
  try {
    await addRun(tx, {
      reference,
      stackName: member.stackName,
      configuration: member.configuration,
      mode,
      actor,
      message,
      autoApply: false,
      planSet: id,
      traceParent,
    });
  } catch (error) {
    // It refuses before it writes.
    if (!isServerError(error)) throw error;
    const reason = `no run of the stack ${member.stackName} was requested: ${error.message}`;
    return endSet(tx, row, { phase: PlanSet_Phase.PHASE_FAILED, reason });
  }
  // None is requested for a set that ends at the same moment.
  tx.guardRow(row);
  return { kind: "again" };
}

/** Lets a run be planned that waited for the plan of another one; undefined where there is none. */
async function planNext(
  tx: Transaction,
  row: StoredRow<PlanSet>,
  runs: readonly MemberRun[],
): Promise<Step | undefined> {
  for (const { member, reference, row: run } of runs) {
    if (run === undefined || phaseOf(run.message) !== "queued") continue;
    const awaited = runs.find((one) => one.member.stack === member.waitsFor);
    if (awaited !== undefined && !isPlanned(awaited)) continue;
    if ((await tx.find(SERVER_KINDS.ticket, ticketPlace(reference))) !== undefined) continue;
    const isPlanOnly = row.message.mode === Run_Mode.MODE_PLAN_ONLY;
    // Others wait for their turn, with which they get a ticket.
    const { current } = (await readQueue(tx, reference.stack)).message;
    if (!isPlanOnly && current !== run.message.id) continue;
    const ticketClass = isPlanOnly
      ? RunTicket_Class.CLASS_SPECULATIVE
      : RunTicket_Class.CLASS_BLOCKING;
    const ticket = freeTicket(run.message, RunTicket_Step.STEP_PLAN, tx.nowMs, ticketClass);
    tx.create(SERVER_KINDS.ticket, ticketPlace(reference), ticket);
    tx.guardRow(run);
    const members = withMember(row.message.members, run.message.id, { waitsFor: "" });
    tx.update(row, { members });
    return { kind: "again" };
  }
  return undefined;
}

function isPlanned({ row }: MemberRun): boolean {
  if (row === undefined) return false;
  const phase = phaseOf(row.message);
  return isEnded(phase) ? isSettledGood(phase) : row.message.planDigest !== "";
}

/** Once all plans are there: they wait for an approval, by the strictest of the rules that were recorded with them. */
async function allPlanned(
  tx: Transaction,
  row: StoredRow<PlanSet>,
  runs: readonly MemberRun[],
): Promise<Step> {
  const phases = runs.map((one) => phaseIn(one));
  const { approvalDeadlineMs } = row.message;
  const isDecided = (phase: RunPhase | undefined): boolean =>
    phase === "awaiting_approval" || (phase !== undefined && isSettledGood(phase));
  // What policies forbid waits for a decision, too.
  if (!phases.every((phase) => isDecided(phase) || phase === "policy_failed")) {
    // A plan that is made again is approved, or not, from then on.
    if (approvalDeadlineMs !== 0n) tx.update(row, { approvalDeadlineMs: 0n });
    return { kind: "rest" };
  }
  if (!phases.every(isDecided)) {
    if (approvalDeadlineMs === 0n) tx.update(row, await timesOf(tx, row));
    return { kind: "rest" };
  }
  const waiting = runs.flatMap(({ row: run }) =>
    run !== undefined && phaseOf(run.message) === "awaiting_approval" ? [run.message] : [],
  );
  if (waiting.length === 0) {
    const isFinished = phases.includes("plan_finished");
    const { PHASE_PLAN_FINISHED, PHASE_NO_CHANGES } = PlanSet_Phase;
    const phase = isFinished ? PHASE_PLAN_FINISHED : PHASE_NO_CHANGES;
    return endSet(tx, row, { phase, ...(isFinished && { digest: digestOf(row.message, runs) }) });
  }
  const limits = waiting.map(({ approvers }) => approvers).filter(({ length }) => length > 0);
  const approvers = inAll(limits);
  if (limits.length > 0 && approvers.length === 0) {
    // An empty list would let all with the role approve.
    const reason =
      "no credential may approve all of its plans: who approves plans of the project was changed while they were made; request another set";
    return endSet(tx, row, { phase: PlanSet_Phase.PHASE_FAILED, reason });
  }
  const times = await timesOf(tx, row);
  tx.update(row, {
    ...times,
    ...(approvalDeadlineMs !== 0n && { approvalDeadlineMs }),
    phase: PlanSet_Phase.PHASE_AWAITING_APPROVAL,
    digest: digestOf(row.message, runs),
    approvals: [],
    requiredApprovals: Math.max(1, ...waiting.map((run) => run.requiredApprovals)),
    excludeAuthor: waiting.some((run) => run.excludeAuthor),
    approvers,
    updatedAtMs: BigInt(tx.nowMs),
  });
  return { kind: "rest" };
}

/** The rule of the project for a set whose plans are there. */
async function timesOf(tx: Transaction, { id }: StoredRow<PlanSet>) {
  const { partition: account, namespace: project } = id.tenancy;
  const place = projectPlace({ account, project });
  const found = await tx.find(SERVER_KINDS.project, place);
  if (found !== undefined) tx.guardRow(found);
  else tx.guardAbsent(SERVER_KINDS.project, place);
  return approvalTimesOf(found?.message, tx.nowMs);
}

/** Ends a set that was not approved in time, with a minute of grace. Nothing of it has begun: its runs are approved with it alone. */
function expire(tx: Transaction, row: StoredRow<PlanSet>): Step {
  if (!isSetApprovalOver(row.message, tx.nowMs - APPROVAL_GRACE_MS)) return { kind: "rest" };
  return endSet(tx, row, {
    phase: PlanSet_Phase.PHASE_DISCARDED,
    reason: "the plans were not approved in time; request another set",
    reasonCode: APPROVAL_EXPIRED,
  });
}

function inAll(lists: readonly (readonly string[])[]): string[] {
  const [first = [], ...others] = lists;
  return first.filter((one) => others.every((list) => list.includes(one)));
}

/** Of the stacks and their plans, in the order in which they are applied. */
function digestOf(set: PlanSet, runs: readonly MemberRun[]): string {
  const digests = new Map(
    runs.map(({ member, row }) => [member.stack, row?.message.planDigest ?? ""]),
  );
  const plans = inOrder(set).map(({ stack }) => [stack, digests.get(stack)]);
  return createHash("sha256").update(JSON.stringify(plans)).digest("hex");
}

/** Approves the next run of an approved set, once all that come before it are applied. */
async function applyNext(
  tx: Transaction,
  row: StoredRow<PlanSet>,
  runs: readonly MemberRun[],
): Promise<Step> {
  const byStack = new Map(runs.map((one) => [one.member.stack, one]));
  const next = inOrder(row.message)
    .map(({ stack }) => byStack.get(stack))
    .find((one) => {
      const phase = one && phaseIn(one);
      return phase !== undefined && !isEnded(phase);
    });
  if (next?.row === undefined) return endSet(tx, row, { phase: PlanSet_Phase.PHASE_APPLIED });
  const { reference, row: run, member } = next;
  const { message } = run;
  const at = { reference, row: run, phase: phaseOf(message) };
  if (!isAt(at, "awaiting_approval")) return { kind: "rest" };
  const plan = await tx.find(STACK_PLAN_KIND, memberPlace(reference.stack, message.planDigest));
  if (plan === undefined) {
    const reason = `the plan of the stack ${member.stackName} was deleted; request another set`;
    return endSet(tx, row, { phase: PlanSet_Phase.PHASE_FAILED, reason });
  }
  tx.guardRow(plan);
  // None is applied for a set that ends at the same moment.
  tx.guardRow(row);
  const approvals = row.message.approvals.map((one) => ({
    ...one,
    planDigest: message.planDigest,
  }));
  const events = approvals.map(({ actor, planDigest, comment }) => ({
    at: tx.nowMs,
    event: { type: "approval", actor, plan_digest: planDigest, comment },
  }));
  await appendEvents(tx, reference, events);
  const { applyTraceParent } = row.message;
  // The time of the approval is that in which the first apply begins: what has begun is not left half done.
  const isFirst = runs.every((one) => phaseIn(one) !== "applied");
  const approvalValidMs = isFirst ? row.message.approvalValidMs : 0n;
  const change = { approvals, applyTraceParent, approvalValidMs };
  const approved = await move(tx, at, "approved", approvals.at(-1)?.actor ?? ACTOR, change);
  const ticket = freeTicket(approved.row.message, RunTicket_Step.STEP_APPLY, tx.nowMs);
  tx.create(SERVER_KINDS.ticket, ticketPlace(reference), ticket);
  return { kind: "rest" };
}

/** Ends a run whose set has ended. One that a worker executes is asked to end. */
async function endMember(
  parts: TransactionParts,
  reference: RunReference,
  why: EndOfMembers,
): Promise<void> {
  try {
    await discardRun(parts, reference, { actor: ACTOR, ...why });
  } catch (error) {
    if (!isServerError(error)) throw error;
    try {
      await cancelRun(parts, reference, { actor: ACTOR });
    } catch (thrown) {
      // It has ended meanwhile, or is being canceled already.
      if (!isServerError(thrown)) throw thrown;
    }
  }
}
