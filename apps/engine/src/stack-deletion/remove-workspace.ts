import {
  createStackStates,
  isEnded,
  type NamedStack,
  type StackLock,
  type StackReference,
} from "@stackwright/core";
import { Fence, type StackQueue } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { parseStateFile } from "@stackwright/tfstate";
import { isSetEnded } from "../domain/plan-set-phases.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  FENCE_KIND,
  planSetPlace,
  RUN_KIND,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { phaseOf } from "../queue/run-row.ts";
import { isOver } from "../queue/stack-lock.ts";
import { isOutside, readStackTool } from "../queue/stack-tool.ts";
import { isHandedBack, requireKeptState } from "../queue/state-owner.ts";
import { idOf, type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { type ServedParts, serveState } from "../terraform-state/served-state.ts";
import { removeNames, type StoredWorkspace } from "../workspace/workspace-directory.ts";
import { finishDeletion, noteDeletion } from "./stack-deletion.ts";

/** Bytes of a state that may be one without resources. */
const EMPTY_STATE_BYTES = 4 * 1024 ** 2;
/** How long the fence of a stack is waited for: longer than a holder that died keeps it. */
const FENCE_WAIT_MS = 20_000;

interface Removal {
  /** Also with resources: they stay in place, unmanaged from then on. @default false */
  readonly force: boolean;
  /** Who asks. @default the server */
  readonly actor?: string;
  /** Also one that is protected from deletion: its objects are gone. @default false */
  readonly ignoresProtection?: boolean;
}

/**
 * Removes a workspace with all that belongs to its stack; without `force` only one without resources (`not_empty`). `stack_locked`,
 * `deletion_protected`, and `conflict` while a run or a plan set of the stack has not ended, and where one was interrupted.
 *
 * The names, the lock and what is known of the tool go in one step with the record of the deletion, which fails when a state, a run or a lock comes
 * meanwhile: it is decided again then. The rest follows; what an interruption leaves of it, any server removes later.
 */
export async function removeWorkspace(
  parts: TransactionParts & ServedParts,
  workspace: StoredWorkspace,
  removal: Removal,
): Promise<void> {
  if (await removeWorkspaceNames(parts, workspace, removal)) {
    await finishDeletion(parts, workspace.stack.reference);
  }
}

/** The first step alone, after which the stack is gone for everybody; false where it was gone before. */
export async function removeWorkspaceNames(
  parts: TransactionParts & ServedParts,
  workspace: StoredWorkspace,
  removal: Removal,
): Promise<boolean> {
  const { force, actor = "server" } = removal;
  const { stack } = workspace;
  // No command writes the state of the engine meanwhile, also none that has taken the stack and written nothing yet.
  const needsHold = force || (await isTaken(parts, stack.reference));
  await using hold = needsHold ? await holdState(parts, stack, actor) : undefined;
  return await transact(parts, async (tx) => {
    const isFirst = await removeFirst(parts, tx, workspace, removal);
    if (isFirst) await passFence(tx, stack.reference, hold);
    return isFirst;
  });
}

/** What makes a stack one that is gone; false where it is already. */
async function removeFirst(
  parts: ServedParts,
  tx: Transaction,
  workspace: StoredWorkspace,
  { force, ignoresProtection = false }: Removal,
): Promise<boolean> {
  const { stack } = workspace;
  if (!(await removeNames(tx, workspace))) return false;
  await requireNoProtection(tx, stack.reference, ignoresProtection);
  const hasQueue = await guardQueue(tx, stack.reference);
  // A queue alone says nothing: one is written, too, where a variable is set. Commands or a tool may have the state of a stack with runs.
  const isRun =
    (hasQueue || force) && !isHandedBack(stack) && (await hasEngineState(tx, stack.reference));
  if (!isRun) await requireKeptState(tx, { stack: stack.reference, name: stack.name });
  await removePresentState(tx, stack.reference);
  // Read after the records that this step guards: what is stored later fails it.
  const isEmpty = force || (await hasNoResources(parts, workspace));
  if (!isEmpty) {
    throw new ServerError(
      "not_empty",
      "the stack has resources; destroy them first, or forget them with force",
    );
  }
  await removeLock(tx, stack.reference);
  await removeTool(tx, stack.reference);
  noteDeletion(tx, stack.reference, stack.name);
  return true;
}

/** Whether somebody has taken a stack to write its state, who may have died since. */
async function isTaken({ storage }: TransactionParts, stack: StackReference): Promise<boolean> {
  const found = await readStored(storage, "strong", idOf(FENCE_KIND, stackPlace(stack)));
  return found !== undefined && decodeRecord(FENCE_KIND, found).owner !== "";
}

/**
 * Writes the fence of a stack as it is, which fails in the moment in which somebody takes it. `conflict` where somebody has it: also in place of
 * this removal, which may have stood still until its hold was over.
 */
async function passFence(
  tx: Transaction,
  stack: StackReference,
  hold: Pick<StackLock, "epoch"> | undefined,
): Promise<void> {
  const fence = await tx.findOrNew(FENCE_KIND, stackPlace(stack), () => Fence.create());
  const { owner, epoch } = fence.message;
  const isFree = hold === undefined ? owner === "" : owner !== "" && epoch === hold.epoch;
  if (!isFree) throw writtenByCommand();
  tx.update(fence, {});
}

/** Keeps commands that work on the store from writing the state of a stack. `conflict` where one does, or a run. */
async function holdState(
  parts: TransactionParts & ServedParts,
  { reference }: NamedStack,
  actor: string,
) {
  const states = createStackStates({
    storage: parts.storage,
    blobs: parts.blobs,
    ciphers: parts.keys,
    owner: `deletion ${actor}`,
    scheduler: parts.clock,
  });
  const state = states.stack(reference);
  const free = await state.tryAcquire();
  if (free !== undefined) return free;
  // Of whom it is, a run says better.
  await transact(parts, async (tx) => guardQueue(tx, reference));
  const over = new AbortController();
  using _late = parts.clock.after(FENCE_WAIT_MS, () => over.abort(writtenByCommand()));
  // A holder that was killed is waited for, as nothing else would end its hold.
  return await state.acquire({ signal: over.signal });
}

function writtenByCommand(): ServerError {
  return new ServerError("conflict", "a command writes the state of the stack");
}

/** `deletion_protected` by settings that only stacks of one API have; a change of them fails the removal. */
async function requireNoProtection(
  tx: Transaction,
  stack: StackReference,
  ignoresProtection: boolean,
): Promise<void> {
  const settings = await tx.find(SERVER_KINDS.rfsStack, stackPlace(stack));
  if (settings === undefined) return;
  if (settings.message.deletionProtection && !ignoresProtection) {
    throw new ServerError("deletion_protected");
  }
  // Written rather than guarded, as a step has few guards; what follows the step removes it.
  tx.update(settings, {});
}

async function removeLock(tx: Transaction, stack: StackReference): Promise<void> {
  const lock = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
  if (lock !== undefined && !isOver(lock.message, tx.nowMs)) {
    throw new ServerError("stack_locked", "the stack is locked; unlock it first");
  }
  if (lock !== undefined) tx.remove(lock);
  else tx.guardAbsent(SERVER_KINDS.lock, stackPlace(stack));
}

/** What is known of the tool of its runs; each change of it fails the removal. */
async function removeTool(tx: Transaction, stack: StackReference): Promise<void> {
  const tool = await tx.find(SERVER_KINDS.tool, stackPlace(stack));
  if (tool !== undefined) tx.remove(tool);
  else tx.guardAbsent(SERVER_KINDS.tool, stackPlace(stack));
}

/** Whether a stack has a queue; `conflict` while a run is in it, or the stack is in a plan set that has not ended. */
async function guardQueue(tx: Transaction, stack: StackReference): Promise<boolean> {
  const queue = await tx.find(SERVER_KINDS.queue, stackPlace(stack));
  if (queue === undefined) {
    tx.guardAbsent(SERVER_KINDS.queue, stackPlace(stack));
    return false;
  }
  const { current, pending, speculative } = queue.message;
  const plans = await Promise.all(
    speculative.map(async (run) => tx.find(RUN_KIND, runPlace({ stack, run }))),
  );
  // A server of an older release leaves plans in the list that have ended.
  const plansNow = plans.some((run) => run !== undefined && !isEnded(phaseOf(run.message)));
  if (current !== "" || pending.length > 0 || plansNow) {
    throw new ServerError("conflict", "a run of the stack is being processed");
  }
  await requireNoOpenSet(tx, stack, queue.message);
  tx.guardRow(queue);
  return true;
}

/** `conflict` while the stack is in a plan set that has not ended: how its run there ended decides of the other ones, and is gone with the stack. */
async function requireNoOpenSet(
  tx: Transaction,
  stack: StackReference,
  { planSet }: Pick<StackQueue, "planSet">,
): Promise<void> {
  if (planSet === "") return;
  const set = await tx.find(SERVER_KINDS.planSet, planSetPlace(stack, planSet));
  if (set === undefined || isSetEnded(set.message.phase)) return;
  throw new ServerError(
    "conflict",
    `the stack is in the plan set ${planSet}, which has not ended; discard or cancel that first`,
  );
}

/** Whether the engine has a state of a stack, and plans and applies it; guarded. `conflict` where a run left it open. */
async function hasEngineState(tx: Transaction, stack: StackReference): Promise<boolean> {
  const tool = await readStackTool(tx, stack);
  const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
  if (head === undefined) tx.guardAbsent(STACK_HEAD_KIND, stackPlace(stack));
  else tx.guardRow(head);
  if (head === undefined || isOutside(tool.message)) return false;
  const { run } = head.message;
  if (run === "") return true;
  throw new ServerError(
    "conflict",
    `the run ${run} of the stack was interrupted; recover it first, with: stackwright recover`,
  );
}

/** Each write of a state writes this record, too. */
async function removePresentState(tx: Transaction, stack: StackReference): Promise<void> {
  const kept = await tx.find(SERVER_KINDS.keptState, stackPlace(stack));
  if (kept !== undefined) tx.remove(kept);
  else tx.guardAbsent(SERVER_KINDS.keptState, stackPlace(stack));
}

async function hasNoResources(parts: ServedParts, { stack }: StoredWorkspace): Promise<boolean> {
  const state = await serveState(parts, stack);
  if (state === undefined) return true;
  if (state.bytes > EMPTY_STATE_BYTES) return false;
  const chunks: Uint8Array[] = [];
  for await (const chunk of state.content) chunks.push(chunk);
  return parseStateFile(Buffer.concat(chunks).toString("utf8")).resources.length === 0;
}
