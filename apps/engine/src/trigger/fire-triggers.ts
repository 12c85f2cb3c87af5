import type { Logger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import {
  Run_Mode,
  type RunTrigger,
  type StackOutputs,
  type StackQueue,
} from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, readStored, WILDCARD } from "@stackwright/storage";
import { followedRevision } from "../domain/followed-revision.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  projectTenancy,
  RUN_KIND,
  STACK_KIND,
  STACK_OUTPUTS_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addRun } from "../queue/enqueue.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { consumerOf } from "./trigger-graph.ts";

// Invariants:
// - The run and the revision that its trigger has taken note of are written in one step, which fails if another server did it
//   first: so any number of servers make one run for each revision.
// - A run that waits for its turn is planned with the outputs as they are then. While one that a trigger requested waits, and
//   this is a guard of the step, further changes need no run of their own.
// - The revision of a trigger is never above that of its producer, so no change is missed.

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const KIND = SERVER_KINDS.trigger;

/** What the cause of a run of a trigger begins with. */
const CAUSE = "trigger:";

/**
 * Requests a run for each trigger whose producer has other outputs than it took note of last. What keeps one from it stays with the
 * trigger (`lastProblem`), and concerns no other. Triggers of stacks that are gone are removed. Resolves with the number of runs.
 */
export async function fireTriggers(
  parts: TransactionParts & { readonly logger: Logger },
  options?: CallOptions,
): Promise<number> {
  const { storage, logger } = parts;
  const published = new Map<string, StackOutputs | undefined>();
  let fired = 0;
  const onDamaged = logDamaged(logger);
  const triggers = await listReadable(storage, KIND, ANYWHERE, { ...options, onDamaged });
  for (const { id, message: trigger } of triggers) {
    try {
      if (trigger.paused) continue;
      const place = outputsPlace(id, trigger);
      const key = `${id.tenancy.partition}/${place.tenancy.namespace}/${place.name}`;
      if (!published.has(key)) {
        const outputsId = idOf(STACK_OUTPUTS_KIND, place);
        const found = await readStored(storage, "strong", outputsId, options);
        published.set(key, found && decodeRecord(STACK_OUTPUTS_KIND, found));
      }
      const outputs = published.get(key);
      const isNew = outputs !== undefined && followedRevision(outputs, trigger) > trigger.revision;
      if (isNew && (await fireTrigger(parts, id))) fired += 1;
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      logger.error({ trigger: id.name, err: error }, "a trigger could not request its run");
    }
  }
  return fired;
}

/**
 * Requests the run of a trigger whose producer has other outputs than it took note of last; false where none was requested, in
 * which case the trigger says why.
 */
export async function fireTrigger(parts: TransactionParts, place: Place): Promise<boolean> {
  try {
    return await transact(parts, async (tx) => fireIn(tx, parts, place));
  } catch (error) {
    if (!isServerError(error)) throw error;
    // A queue that is full has room again; everything else would be refused at each sweep.
    await note(parts, place, error.message, error.code !== "queue_full");
    return false;
  }
}

async function fireIn(tx: Transaction, parts: TransactionParts, place: Place): Promise<boolean> {
  const row = await tx.find(KIND, place);
  if (row === undefined || row.message.paused) return false;
  const { message: trigger } = row;
  const revision = await revisionOf(tx, place, trigger);
  if (revision === undefined || revision <= trigger.revision) return false;
  const stack = consumerOf(place);
  const named = { tenancy: projectTenancy(stack), name: trigger.stackName };
  const found = await tx.find(STACK_KIND, named);
  if (found?.message.id !== stack.stack) {
    tx.remove(row);
    return false;
  }
  const { message: queue } = await readQueue(tx, stack);
  const noted = { revision, lastAtMs: BigInt(tx.nowMs), updatedAtMs: BigInt(tx.nowMs) };
  const waiting = await waitingRun(tx, stack, queue, trigger);
  if (waiting !== undefined) {
    tx.update(row, { ...noted, lastRun: waiting, lastProblem: "" });
    return false;
  }
  if (queue.configuration === "") {
    throw new ServerError("unprocessable", "nothing was applied to the stack by this server yet");
  }
  const run = await addRun(tx, {
    reference: { stack, run: parts.token() },
    stackName: trigger.stackName,
    configuration: queue.configuration,
    mode: trigger.mode,
    actor: trigger.actor,
    automatic: true,
    cause: `${CAUSE}${trigger.producerProject}/${trigger.producerName}@${revision}`,
    message: trigger.message,
    ...(trigger.autoApply !== undefined && { autoApply: trigger.autoApply }),
  });
  tx.update(row, { ...noted, lastRun: run.id, lastProblem: "" });
  return true;
}

/**
 * A run of a trigger that waits for its turn and does what the one of this trigger would, which this step then requires;
 * undefined without one.
 */
async function waitingRun(
  tx: Transaction,
  stack: StackReference,
  { current, pending }: Pick<StackQueue, "current" | "pending">,
  { mode, autoApply }: Pick<RunTrigger, "mode" | "autoApply">,
): Promise<string | undefined> {
  // Plans alone have no place in the queue.
  if (mode === Run_Mode.MODE_PLAN_ONLY) return undefined;
  for (const id of [...pending, current].filter((one) => one !== "")) {
    const row = await tx.find(RUN_KIND, memberPlace(stack, id));
    if (row === undefined || !row.message.cause.startsWith(CAUSE)) continue;
    const { autoApplyRequested, autoApply: applied } = row.message;
    const isAlike =
      row.message.mode === mode && (autoApplyRequested ? applied : undefined) === autoApply;
    if (!isAlike || phaseOf(row.message) !== "queued") continue;
    tx.guardRow(row);
    return id;
  }
  return undefined;
}

/** Keeps why no run was requested. */
async function note(
  parts: TransactionParts,
  place: Place,
  problem: string,
  isOver: boolean,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.find(KIND, place);
    if (row === undefined) return;
    const revision = await revisionOf(tx, place, row.message);
    if (revision === undefined || revision <= row.message.revision) return;
    if (!isOver && row.message.lastProblem === problem) return;
    const atMs = BigInt(tx.nowMs);
    const change = { lastProblem: problem, lastAtMs: atMs, updatedAtMs: atMs };
    tx.update(row, { ...change, ...(isOver && { revision }) });
  });
}

async function revisionOf(
  tx: Transaction,
  place: Place,
  trigger: RunTrigger,
): Promise<bigint | undefined> {
  const found = await tx.find(STACK_OUTPUTS_KIND, outputsPlace(place, trigger));
  return found && followedRevision(found.message, trigger);
}

function outputsPlace(
  { tenancy }: Pick<Place, "tenancy">,
  { producer, producerProject: project }: Pick<RunTrigger, "producer" | "producerProject">,
): Place {
  return stackPlace({ account: tenancy.partition, project, stack: producer });
}
