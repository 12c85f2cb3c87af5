import type { OpenStore } from "@stackwright/core";
import { STATE_BLOB_KINDS } from "@stackwright/core";
import { RECORD_BLOB_KINDS } from "@stackwright/registry";
import { isStorageError, type ResourceId } from "@stackwright/storage";
import {
  type BlobGcResult,
  type BlobReferenceKind,
  collectUnreferenced,
} from "@stackwright/storage/blob";
import { SERVER_BLOB_KINDS } from "./domain/server-kinds.ts";

/** All kinds of resources that this release keeps in a store, with the blobs that they refer to. */
export const STORE_BLOB_KINDS: readonly BlobReferenceKind[] = [
  ...STATE_BLOB_KINDS,
  ...RECORD_BLOB_KINDS,
  ...SERVER_BLOB_KINDS,
];

/**
 * Removes the unreferenced blobs of a store: refused uploads, withdrawn archives, blobs of deleted stacks and plans.
 * Those that were written or requested within the last hour stay, also without references. `undefined` where the store
 * is on another server, which does it. While a resource is damaged no blob is removed, as it may refer to any: each one goes to `onDamaged`, and
 * what interrupted writers left is removed nevertheless.
 */
export async function collectBlobs(
  { storage, blobs }: Pick<OpenStore, "storage" | "blobs">,
  signal: AbortSignal,
  {
    onDamaged,
    dryRun,
  }: {
    readonly onDamaged?: (id: ResourceId, reason: string) => void;
    /** Only counts. */
    readonly dryRun?: boolean | undefined;
  } = {},
): Promise<BlobGcResult | undefined> {
  try {
    const kinds = STORE_BLOB_KINDS;
    return await collectUnreferenced({ storage, blobs, kinds, signal, dryRun, onDamaged });
  } catch (error) {
    if (isStorageError(error, "STORAGE_UNSUPPORTED")) return undefined;
    throw error;
  }
}
