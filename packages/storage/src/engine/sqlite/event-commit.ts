import type { Commit } from "../../feed/commit.ts";
import { formatCursor } from "../../feed/cursor.ts";
import type { EventRow } from "./protocol.ts";
import { fromBodyRow } from "./rows.ts";

/** The commit of a row of the history. */
export function eventCommit(row: EventRow, epoch: string): Commit {
  return {
    revision: row.revision,
    operation: row.operation,
    resource: fromBodyRow(row),
    cursor: formatCursor(epoch, row.revision),
  };
}
