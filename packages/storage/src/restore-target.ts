import type { StorageLimits } from "./capabilities.ts";
import { StorageError } from "./errors.ts";
import type { ResourceId } from "./resource.ts";
import type { CallOptions, Restore } from "./types.ts";

/** An empty store that a backup is restored into. */
export interface RestoreTarget {
  readonly limits: StorageLimits;
  /** Starts the restore; `STORAGE_INVALID_ARGUMENT` when the store holds resources. */
  begin(options?: CallOptions): Promise<Restore>;
}

/** The refusal of a store that holds a resource. */
export function storeNotEmpty(id: ResourceId): StorageError {
  const { group, kind } = id.type;
  return new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    `the store is not empty: it holds ${group} ${kind} ${JSON.stringify(id.name)}; restore into a new one`,
    { details: { id } },
  );
}
