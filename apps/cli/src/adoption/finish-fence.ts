import { createHash } from "node:crypto";
import type { StackOrigin } from "@stackwright/core";
import { TfstateError } from "@stackwright/tfstate";
import { type LockRecord, lockIdOf, type StateBackend } from "@stackwright/tfstate/backend";
import { CommandError } from "../command-error.ts";
import { MARKER_VERSION } from "../session/adoption-marker.ts";

interface Fence {
  readonly backend: StateBackend;
  readonly workspace: string;
  readonly origin: Extract<StackOrigin, { kind: "state" }>;
  readonly record: LockRecord;
  /** The marker in the place of the state. */
  readonly marker: Uint8Array;
  readonly signal: AbortSignal;
}

/**
 * Fences the old state of a stack where its adoption was interrupted after the recording: takes the lock that should be there,
 * or leaves the marker. Returns what fences it now; undefined where it was fenced. Rejects where another command has used
 * the state since: both would change the same objects.
 */
export async function finishFence(fence: Fence): Promise<string | undefined> {
  const { origin } = fence;
  if (origin.lockId !== "") return takeLock(fence);
  if (origin.renamedTo !== "") return leaveMarker(fence);
  return undefined;
}

async function takeLock({
  backend,
  workspace,
  origin,
  record,
  signal,
}: Fence): Promise<string | undefined> {
  const { lockId } = origin;
  try {
    // By an ID of its own: with that of the kept lock it would be the holder.
    await (await backend.lock(workspace, record, { signal })).release();
  } catch (error) {
    const locked = error instanceof TfstateError && error.code === "TFSTATE_BACKEND_LOCKED";
    if (!locked || lockIdOf(error.lock ?? "") !== lockId) throw error;
    return undefined;
  }
  const held = await backend.lock(workspace, { ...record, ID: lockId }, { signal });
  if (isAdopted(await backend.read(workspace, { signal }), origin)) {
    return `locked with ID ${lockId}; "terraform force-unlock ${held.unlockArgument ?? lockId}" releases it`;
  }
  await held.release();
  throw usedSince(backend.place(workspace));
}

async function leaveMarker({
  backend,
  workspace,
  origin,
  record,
  marker,
  signal,
}: Fence): Promise<string | undefined> {
  const read = async (): Promise<Uint8Array | undefined> => backend.read(workspace, { signal });
  if (isMarker(await read())) return undefined;
  const held = await backend.lock(workspace, record, { signal });
  try {
    const bytes = await read();
    if (isMarker(bytes)) return undefined;
    if (!isAdopted(bytes, origin)) throw usedSince(backend.place(workspace));
    const kept = await backend.retire?.(workspace, origin.renamedTo, marker);
    return `kept as ${kept}; the old name holds a marker that the other command refuses`;
  } finally {
    await held.release();
  }
}

function isAdopted(bytes: Uint8Array | undefined, { sha256 }: Fence["origin"]): boolean {
  return bytes !== undefined && createHash("sha256").update(bytes).digest("hex") === sha256;
}

function isMarker(bytes: Uint8Array | undefined): boolean {
  if (bytes === undefined) return false;
  try {
    const file = JSON.parse(Buffer.from(bytes).toString("utf8")) as { readonly version?: unknown };
    return file.version === MARKER_VERSION;
  } catch {
    return false;
  }
}

function usedSince(place: string): CommandError {
  return new CommandError(
    `${place}: the stack has adopted this state, and another command has written it since. Both would change the same objects.`,
    { advice: "Compare the two states: stackwright export-state writes that of the stack." },
  );
}
