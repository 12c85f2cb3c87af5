import { isStorageError } from "../errors.ts";
import { refused } from "../preconditions.ts";
import { readStored } from "../read-stored.ts";
import type { Resource, ResourceId } from "../resource.ts";
import type { CallOptions, Guard } from "../types.ts";
import { DELETION_TIMESTAMP, finalizersOf, isMarkedForDeletion } from "./deletion-marks.ts";
import type { PartialResourceId } from "./inputs.ts";
import { checkReadId } from "./read-resource.ts";
import { retryOnConflict } from "./retry.ts";
import type { ServiceParts } from "./service-parts.ts";
import { isTombstone, tombstoneOf } from "./tombstone.ts";

/** Deletes a resource of a registered type, or marks it while it has finalizers. */
export async function deleteResource(
  parts: ServiceParts,
  input: PartialResourceId & { readonly version?: string },
  call: CallOptions,
): Promise<void> {
  await deleteStored(parts, checkReadId(parts, input), input.version ?? "", call);
}

/** Deletes what is stored under an id, of any type. */
export async function deleteStored(
  parts: ServiceParts,
  id: ResourceId,
  version: string,
  { signal }: CallOptions,
): Promise<void> {
  const cycle = (): Promise<void> => deleteOnce(parts, id, version, signal);
  signal?.throwIfAborted();
  await (version === "" ? retryOnConflict(parts.retry, cycle, signal) : cycle());
}

// The tombstone is written before the resource goes: if this process dies between the two, the
// resource is still there and deleting it again finds the tombstone waiting. The other way round
// no record of what it owned would remain. A tombstone whose resource stayed is taken away by the reaper;
// lest that happens in the very moment of a second attempt, the deletion is guarded by the tombstone.

async function deleteOnce(
  parts: ServiceParts,
  id: ResourceId,
  version: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { storage } = parts;
  // A caller that names a version and a lifetime has seen the resource; a stale read does no harm then.
  const consistency = version === "" || id.uid === "" ? "strong" : "eventual";
  const stored = await readStored(storage, consistency, id, { signal });
  if (stored === undefined) return;
  if (version !== "" && version !== stored.version) {
    throw refused("STORAGE_CAS_FAILURE", id, version);
  }
  if (finalizersOf(stored).size > 0) {
    await markForDeletion(parts, stored, signal);
    return;
  }
  for (;;) {
    const guards = isTombstone(stored.id) ? [] : await writeTombstone(parts, stored.id, signal);
    try {
      await storage.deleteCAS(stored.id, stored.version, { signal, guards });
      return;
    } catch (error) {
      // The reaper took the tombstone for a forgotten one.
      if (!isStorageError(error, "STORAGE_GUARD_FAILED")) throw error;
    }
  }
}

async function markForDeletion(
  { storage, clock, ulid }: ServiceParts,
  stored: Resource,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (isMarkedForDeletion(stored)) return;
  const now = new Date(clock.wallMs()).toISOString();
  const metadata = { ...stored.metadata, [DELETION_TIMESTAMP]: now };
  await storage.writeCAS({ ...stored, generation: ulid(), metadata }, { signal });
}

/** Writes a tombstone, or finds one from an earlier attempt; gives the guard on it. */
async function writeTombstone(
  { storage, ulid }: ServiceParts,
  owner: ResourceId,
  signal: AbortSignal | undefined,
): Promise<readonly Guard[]> {
  const tombstone = tombstoneOf(owner, ulid(), ulid());
  let stored: Resource | undefined;
  try {
    stored = await storage.writeCAS(tombstone, { signal });
  } catch (error) {
    if (!isStorageError(error, "STORAGE_WRONG_UID")) throw error;
    stored = await readStored(storage, "strong", { ...tombstone.id, uid: "" }, { signal });
  }
  if (storage.capabilities.guards === 0) return [];
  // One that has gone meanwhile makes the guard fail, and the next round writes another.
  return [{ id: stored?.id ?? tombstone.id, version: stored?.version ?? "gone" }];
}
