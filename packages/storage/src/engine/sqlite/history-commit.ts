import { StorageError } from "../../errors.ts";
import type { HistoryCommit } from "../../feed/commit-history.ts";
import type { CommitRow } from "./protocol.ts";
import { fromBodyRow } from "./rows.ts";

/**
 * The commit of a row of the history. All of a transaction have one time, so a change of the time is the end of one; two
 * transactions of one millisecond count as one.
 */
export function historyCommit(row: CommitRow): HistoryCommit {
  const { revision, operation, atMs } = row;
  try {
    const resource = fromBodyRow(row);
    return { revision, operation, resource, atMs: atMs ?? undefined, group: String(atMs) };
  } catch (error) {
    const { message } = StorageError.from(error);
    throw new StorageError("STORAGE_CORRUPT", `commit ${revision} of the history: ${message}`, {
      cause: error,
    });
  }
}
