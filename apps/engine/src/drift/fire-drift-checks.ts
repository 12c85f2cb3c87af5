import type { Logger } from "@stackwright/base/logger";
import { isEnded, type StackReference } from "@stackwright/core";
import {
  type DriftRule,
  type Run,
  Run_Mode,
  type StackDrift,
} from "@stackwright/proto/stackwright";
import { isStorageError, readStored } from "@stackwright/storage";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { DRIFT_CHECK, driftRuleOf, nextCheck } from "../domain/drift-rule.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  memberPlace,
  projectTenancy,
  RUN_KIND,
  STACK_HEAD_KIND,
  STACK_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { DRIFT_ACTOR, readDrift } from "../queue/drift-record.ts";
import { addRun } from "../queue/enqueue.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import type { DriftIndex, NamedStack } from "./drift-index.ts";

// Invariants:
// - The run of a check and the next time of its stack are written in one step, which fails if another server did it first; its id follows from
//   stack and time. So any number of servers make one run for each time.
// - A stack has one check that has not ended. Of all checks that were requested lately, a bounded number has not ended, so that stacks which
//   are due together, such as after a night without a server, are checked one after another.
// - A check only plans: it has no place in the queue of its stack, ends no other run, and has at most half of the steps of a worker.

const KIND = SERVER_KINDS.drift;

/** Checks that have not ended, beyond which no further one is requested. */
const MAX_OPEN = 20;
/** A check that has not ended after this time, such as one of a pool without workers, keeps no other one out. */
const OPEN_MS = 30 * 60_000;
/** Stacks whose next time is noted in one sweep. */
const MAX_NOTED = 200;

type DriftParts = TransactionParts & { readonly logger: Logger };

/**
 * Requests a check for each stack that is due, the longest due ones first. What keeps one from it stays with the stack (`lastProblem`), and
 * concerns no other. Resolves with the number of runs.
 */
export async function fireDriftChecks(parts: DriftParts, index: DriftIndex): Promise<number> {
  const { drifts, projects } = index;
  const nowMs = parts.clock.wallMs();
  const due: { readonly stack: StackReference; readonly atMs: number }[] = [];
  const unnoted: NamedStack[] = [];
  let open = 0;
  for (const { stack, drift } of drifts.values()) {
    if (drift === undefined) continue;
    const { check } = drift;
    const isOpen =
      check !== "" && (await each(parts, stack, async () => isOpenCheck(parts, stack, check)));
    if (isOpen === undefined) continue;
    if (isOpen && nowMs - Number(drift.checkAtMs) < OPEN_MS) open += 1;
    const rule = driftRuleOf(drift, projects.get(projectKeyOf(stack)));
    if (isOpen || rule === undefined) continue;
    const atMs = Number(drift.nextAtMs);
    if (isUnnoted(drift, rule, nowMs)) unnoted.push({ stack, stackName: drift.stackName });
    else if (atMs <= nowMs) due.push({ stack, atMs });
  }
  for (const named of index.stacks) {
    const { stack } = named;
    const rule = driftRuleOf(undefined, projects.get(projectKeyOf(stack)));
    if (rule !== undefined && !drifts.has(keyOf(stack))) unnoted.push(named);
  }
  for (const one of unnoted.slice(0, MAX_NOTED)) {
    await each(parts, one.stack, async () => note(parts, one));
  }
  let fired = 0;
  for (const { stack } of due.toSorted((a, b) => a.atMs - b.atMs)) {
    if (open >= MAX_OPEN) break;
    if ((await each(parts, stack, async () => fire(parts, stack))) !== true) continue;
    open += 1;
    fired += 1;
  }
  return fired;
}

/** What is done for one stack: what fails is logged, and concerns no other, unless the store is away. */
async function each<T>(
  { logger }: DriftParts,
  stack: StackReference,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
    logger.error({ ...stack, err: error }, "a stack could not be checked for drift");
    return undefined;
  }
}

/** Notes the next time of a stack that has none, or one that a shorter rule has made pointless. */
async function note(parts: TransactionParts, { stack, stackName }: NamedStack): Promise<void> {
  await transact(parts, async (tx) => {
    const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
    const row = await readDrift(tx, stack, stackName);
    const rule = driftRuleOf(row.message, project?.message);
    if (rule === undefined || !isUnnoted(row.message, rule, tx.nowMs)) return;
    tx.update(row, moveOn(rule, stack, tx.nowMs));
  });
}

/** Requests a check of a stack at once, whatever its rule says; one that has not ended is taken instead. */
export async function checkDrift(
  parts: TransactionParts,
  { stack, stackName, actor }: CheckedStack,
): Promise<Run> {
  return transact(parts, async (tx) => {
    const row = await readDrift(tx, stack, stackName);
    const { check } = row.message;
    const open = check === "" ? undefined : await tx.find(RUN_KIND, memberPlace(stack, check));
    if (open !== undefined && !isEnded(phaseOf(open.message))) return open.message;
    const run = await addCheck(tx, { stack, stackName, actor }, tx.nowMs);
    tx.update(row, { stackName, check: run.id, checkAtMs: BigInt(tx.nowMs) });
    return run;
  });
}

interface CheckedStack extends NamedStack {
  readonly actor: string;
}

async function addCheck(
  tx: Transaction,
  { stack, stackName, actor }: CheckedStack,
  atMs: number,
): Promise<Run> {
  const { configuration } = (await readQueue(tx, stack)).message;
  if (configuration === "") {
    throw new ServerError("unprocessable", "nothing was applied to the stack by this server yet");
  }
  const id = derivedRunId(atMs, [DRIFT_CHECK, stack.stack]);
  const known = await tx.find(RUN_KIND, memberPlace(stack, id));
  // The record was lost and made again.
  if (known !== undefined) throw new ServerError("conflict", `the run ${id} was made already`);
  return addRun(tx, {
    reference: { stack, run: id },
    stackName,
    configuration,
    mode: Run_Mode.MODE_REFRESH_ONLY,
    planOnly: true,
    actor,
    automatic: true,
    background: true,
    cause: `${DRIFT_CHECK}${new Date(atMs).toISOString()}`,
    message: "Looks for drift",
    autoApply: false,
  });
}

/** Requests the check of a stack that is due; false where none was requested. */
async function fire(parts: TransactionParts, stack: StackReference): Promise<boolean> {
  try {
    return await transact(parts, async (tx) => {
      const due = await findDue(tx, stack);
      if (due === undefined) return false;
      const { row, rule, atMs } = due;
      // While the stack is applied, or has to be recovered, a check would only wait for that.
      const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
      if (head !== undefined && head.message.run !== "") return false;
      const named = { tenancy: projectTenancy(stack), name: row.message.stackName };
      const found = await tx.find(STACK_KIND, named);
      if (found?.message.id !== stack.stack) {
        tx.remove(row);
        return false;
      }
      const actor = row.message.rule === undefined ? DRIFT_ACTOR : row.message.actor;
      const { stackName } = row.message;
      const run = await addCheck(tx, { stack, stackName, actor }, atMs);
      const checkAtMs = BigInt(tx.nowMs);
      tx.update(row, { check: run.id, checkAtMs, ...moveOn(rule, stack, tx.nowMs) });
      return true;
    });
  } catch (error) {
    if (!isServerError(error)) throw error;
    await transact(parts, async (tx) => {
      const due = await findDue(tx, stack);
      if (due === undefined) return;
      const { row, rule } = due;
      tx.update(row, { lastProblem: error.message, ...moveOn(rule, stack, tx.nowMs) });
    });
    return false;
  }
}

async function findDue(tx: Transaction, stack: StackReference) {
  const row = await tx.find(KIND, stackPlace(stack));
  const project = await tx.find(SERVER_KINDS.project, projectPlace(stack));
  const rule = row && driftRuleOf(row.message, project?.message);
  if (row === undefined || rule === undefined) return undefined;
  const { check } = row.message;
  const open = check === "" ? undefined : await tx.find(RUN_KIND, memberPlace(stack, check));
  if (open !== undefined && !isEnded(phaseOf(open.message))) return undefined;
  const atMs = Number(row.message.nextAtMs);
  return atMs !== 0 && atMs <= tx.nowMs ? { row, rule, atMs } : undefined;
}

function moveOn(rule: DriftRule, stack: StackReference, nowMs: number): Partial<StackDrift> {
  return { nextAtMs: BigInt(nextCheck(rule, stack.stack, nowMs)) };
}

/** Whether it was not decided when a stack is due, or by a longer rule than it has now. */
function isUnnoted(
  { nextAtMs }: Pick<StackDrift, "nextAtMs">,
  { everyMinutes }: DriftRule,
  nowMs: number,
): boolean {
  return nextAtMs === 0n || Number(nextAtMs) > nowMs + everyMinutes * 60_000;
}

async function isOpenCheck(
  { storage }: Pick<TransactionParts, "storage">,
  stack: StackReference,
  run: string,
): Promise<boolean> {
  const place = memberPlace(stack, run);
  const found = await readStored(storage, "strong", idOf(RUN_KIND, place));
  return found !== undefined && !isEnded(phaseOf(decodeRecord(RUN_KIND, found)));
}

function keyOf({ account, project, stack }: StackReference): string {
  return `${account}/${project}/${stack}`;
}

function projectKeyOf({ account, project }: Pick<StackReference, "account" | "project">): string {
  return `${account}/${project}`;
}
