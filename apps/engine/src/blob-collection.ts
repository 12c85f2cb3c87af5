import type { OpenStore } from "@stackwright/core";
import { STATE_BLOB_KINDS } from "@stackwright/core";
import { RECORD_BLOB_KINDS } from "@stackwright/registry";
import { isStorageError } from "@stackwright/storage";
import { type BlobGcResult, collectUnreferenced } from "@stackwright/storage/blob";
import { SERVER_BLOB_KINDS } from "./domain/server-kinds.ts";

/**
 * Removes the unreferenced blobs of a store: refused uploads, withdrawn archives, blobs of deleted stacks and plans.
 * Those that were written or requested within the last hour stay, also without references. `undefined` where the store
 * is on another server, which does it.
 */
export async function collectBlobs(
  { storage, blobs }: Pick<OpenStore, "storage" | "blobs">,
  signal: AbortSignal,
): Promise<BlobGcResult | undefined> {
  const kinds = [...STATE_BLOB_KINDS, ...RECORD_BLOB_KINDS, ...SERVER_BLOB_KINDS];
  try {
    return await collectUnreferenced({ storage, blobs, kinds, signal });
  } catch (error) {
    if (isStorageError(error, "STORAGE_UNSUPPORTED")) return undefined;
    throw error;
  }
}
