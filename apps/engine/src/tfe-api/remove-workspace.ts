import { parseStateFile } from "@stackwright/tfstate";
import { memberPlace, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { requireKeptState } from "../queue/state-owner.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { type ServedParts, serveState } from "../terraform-state/served-state.ts";
import type { StoredWorkspace, WorkspaceDirectory } from "./workspace-directory.ts";

/** Bytes of a state that may be one without resources. */
const EMPTY_STATE_BYTES = 4 * 1024 ** 2;
/** Versions that are removed in one step. */
const STEP = 20;

/**
 * Removes a workspace whose state a command keeps, with all versions of it; without `force` only one without resources. `conflict` while
 * it is locked, and for a stack that the engine runs and that has objects.
 */
export async function removeWorkspace(
  parts: TransactionParts & ServedParts & { readonly directory: WorkspaceDirectory },
  workspace: StoredWorkspace,
  { force }: { readonly force: boolean },
): Promise<void> {
  const { stack } = workspace;
  const { reference, name } = stack;
  const isEmpty = await hasNoResources(parts, workspace);
  if (!isEmpty && !force) throw new ServerError("conflict", "workspace has resources");
  const ofEngine = await transact(parts, async (tx) => {
    const lock = await tx.find(SERVER_KINDS.lock, stackPlace(reference));
    if (lock !== undefined && !isOver(lock.message, tx.nowMs)) {
      throw new ServerError("conflict", "workspace is locked");
    }
    if (lock !== undefined) tx.remove(lock);
    else tx.guardAbsent(SERVER_KINDS.lock, stackPlace(reference));
    const queue = await tx.find(SERVER_KINDS.queue, stackPlace(reference));
    if (queue !== undefined) {
      const { current, pending } = queue.message;
      if (current !== "" || pending.length > 0) {
        throw new ServerError("conflict", "a run of the workspace is being processed");
      }
      return true;
    }
    await requireKeptState(tx, { stack: reference, name });
    const kept = await tx.find(SERVER_KINDS.keptState, stackPlace(reference));
    // Without a present version no command takes what remains for a state.
    if (kept !== undefined) tx.update(kept, { current: 0n });
    return false;
  });
  if (ofEngine && !isEmpty) {
    throw new ServerError(
      "conflict",
      "Stackwright runs this stack: destroy its objects first, or forget them with: stackwright workspace delete -force",
    );
  }
  await parts.directory.remove(workspace);
  if (!ofEngine) await removeVersions(parts, workspace);
}

async function removeVersions(parts: TransactionParts, { stack }: StoredWorkspace): Promise<void> {
  const { reference } = stack;
  const { tenancy, name: prefix } = memberPlace(reference, "");
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
  await transact(parts, async (tx) => {
    const kept = await tx.find(SERVER_KINDS.keptState, stackPlace(reference));
    if (kept !== undefined) tx.remove(kept);
  });
}

async function hasNoResources(parts: ServedParts, { stack }: StoredWorkspace): Promise<boolean> {
  const state = await serveState(parts, stack);
  if (state === undefined) return true;
  if (state.bytes > EMPTY_STATE_BYTES) return false;
  const chunks: Uint8Array[] = [];
  for await (const chunk of state.content) chunks.push(chunk);
  return parseStateFile(Buffer.concat(chunks).toString("utf8")).resources.length === 0;
}
