import { StorageError } from "../errors.ts";

/** The error of calls after `close`. */
export function closedError(): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the backend is closed", {
    details: { outcome: "not-applied" },
  });
}
