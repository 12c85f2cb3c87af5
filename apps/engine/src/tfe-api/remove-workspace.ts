import type { StackReference } from "@stackwright/core";
import { parseStateFile } from "@stackwright/tfstate";
import { memberPlace, STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { isOutside, readStackTool } from "../queue/stack-tool.ts";
import { isHandedBack, requireKeptState } from "../queue/state-owner.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { type ServedParts, serveState } from "../terraform-state/served-state.ts";
import { removeNames, type StoredWorkspace } from "./workspace-directory.ts";

/** Bytes of a state that may be one without resources. */
const EMPTY_STATE_BYTES = 4 * 1024 ** 2;
/** Versions that are removed in one step. */
const STEP = 20;

/**
 * Removes a workspace whose state commands or the tool of its runs keep, with all versions of it and what is known of the tool; without `force` only one without resources. `conflict` while
 * it is locked, and for a stack that the engine runs and that has objects. The names, the lock and the present state go in one step, which
 * fails when a state, a run or a lock comes meanwhile: it is decided again then.
 */
export async function removeWorkspace(
  parts: TransactionParts & ServedParts,
  workspace: StoredWorkspace,
  { force }: { readonly force: boolean },
): Promise<void> {
  const { stack } = workspace;
  await transact(parts, async (tx) => {
    if (!(await removeNames(tx, workspace))) return;
    const hasQueue = await guardQueue(tx, stack.reference);
    // A queue alone says nothing: one is written, too, where a variable is set. Commands or a tool may have the state of a stack with runs.
    const isRun = hasQueue && !isHandedBack(stack) && (await hasEngineState(tx, stack.reference));
    if (!isRun) await requireKeptState(tx, { stack: stack.reference, name: stack.name });
    await removePresentState(tx, stack.reference);
    // Read after the records that this step guards: what is stored later fails it.
    const isEmpty = (force && !isRun) || (await hasNoResources(parts, workspace));
    if (!isEmpty && !force) throw new ServerError("conflict", "workspace has resources");
    await removeLock(tx, stack.reference);
    await removeTool(tx, stack.reference);
    if (!isEmpty) {
      throw new ServerError(
        "conflict",
        "Stackwright runs this stack: destroy its objects first, or forget them with: stackwright workspace delete -force",
      );
    }
  });
  await removeVersions(parts, stack.reference);
}

async function removeLock(tx: Transaction, stack: StackReference): Promise<void> {
  const lock = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
  if (lock !== undefined && !isOver(lock.message, tx.nowMs)) {
    throw new ServerError("conflict", "workspace is locked");
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

/** Whether a stack has a queue; `conflict` while a run is in it. */
async function guardQueue(tx: Transaction, stack: StackReference): Promise<boolean> {
  const queue = await tx.find(SERVER_KINDS.queue, stackPlace(stack));
  if (queue === undefined) {
    tx.guardAbsent(SERVER_KINDS.queue, stackPlace(stack));
    return false;
  }
  const { current, pending } = queue.message;
  if (current !== "" || pending.length > 0) {
    throw new ServerError("conflict", "a run of the workspace is being processed");
  }
  tx.guardRow(queue);
  return true;
}

/** Whether the engine has a state of a stack, and plans and applies it; guarded. */
async function hasEngineState(tx: Transaction, stack: StackReference): Promise<boolean> {
  const tool = await readStackTool(tx, stack);
  const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
  if (head === undefined) tx.guardAbsent(STACK_HEAD_KIND, stackPlace(stack));
  else tx.guardRow(head);
  return head !== undefined && !isOutside(tool.message);
}

/** Each write of a state writes this record, too. */
async function removePresentState(tx: Transaction, stack: StackReference): Promise<void> {
  const kept = await tx.find(SERVER_KINDS.keptState, stackPlace(stack));
  if (kept !== undefined) tx.remove(kept);
  else tx.guardAbsent(SERVER_KINDS.keptState, stackPlace(stack));
}

/** Removes the versions of a stack that is gone: no more of them are added. */
async function removeVersions(parts: TransactionParts, stack: StackReference): Promise<void> {
  const { tenancy, name: prefix } = memberPlace(stack, "");
  const { type } = SERVER_KINDS.stateVersion;
  const found = await parts.storage.list("strong", type, tenancy, prefix);
  for (let at = 0; at < found.length; at += STEP) {
    const part = found.slice(at, at + STEP);
    await transact(parts, async (tx) => {
      for (const { id } of part) {
        const place = { tenancy: id.tenancy, name: id.name };
        const row = await tx.find(SERVER_KINDS.stateVersion, place);
        if (row !== undefined) tx.remove(row);
      }
    });
  }
}

async function hasNoResources(parts: ServedParts, { stack }: StoredWorkspace): Promise<boolean> {
  const state = await serveState(parts, stack);
  if (state === undefined) return true;
  if (state.bytes > EMPTY_STATE_BYTES) return false;
  const chunks: Uint8Array[] = [];
  for await (const chunk of state.content) chunks.push(chunk);
  return parseStateFile(Buffer.concat(chunks).toString("utf8")).resources.length === 0;
}
