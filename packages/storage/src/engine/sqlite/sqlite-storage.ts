import type { StorageBackend } from "../../types.ts";

/** A store in an SQLite database. */
export interface SqliteStorage extends StorageBackend {
  /**
   * Copies the store to a new file while it is in use; put the file into a directory of its own as
   * `store.db` to open it. The copy is a line of its own: cursors do not carry over.
   */
  backup(path: string): Promise<void>;
  /** Drops all history but the newest `keep` commits. Watches that are open are not concerned. */
  compactHistory(keep: number): Promise<void>;
}
