import { GroupVersionMismatchError, isStorageError } from "./errors.ts";
import type { Resource, ResourceId } from "./resource.ts";
import type { CallOptions, ReadConsistency, StorageBackend } from "./types.ts";

/** Returns what is stored under an id, in any group version, or `undefined` when nothing is. */
export async function readStored(
  storage: StorageBackend,
  consistency: ReadConsistency,
  id: ResourceId,
  options?: CallOptions,
): Promise<Resource | undefined> {
  try {
    return await storage.read(consistency, id, options);
  } catch (error) {
    if (isStorageError(error, "STORAGE_NOT_FOUND")) return undefined;
    if (error instanceof GroupVersionMismatchError) return error.stored;
    throw error;
  }
}
