import type { StorageBackend } from "../../types.ts";

/** A store in PostgreSQL. */
export interface PostgresStorage extends StorageBackend {
  /**
   * Forgets history beyond the bounds of the options now, rather than in the course of writing.
   * Watches of this instance are brought up to date before.
   */
  compactHistory(): Promise<void>;
}
