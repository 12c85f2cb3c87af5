import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import type { CommitPage, HistoryCommit } from "../../feed/commit-history.ts";
import type { DurabilityRow, SeenRevision } from "./durable-reads.ts";
import { fromBodyRow } from "./rows.ts";

/** Bounds of a page: commits, and bytes of bodies beside a first one. */
const PAGE_ROWS = 2_000;
const PAGE_BYTES = 4 * 1024 * 1024;

interface CommitRow extends DurabilityRow {
  readonly line: string;
  readonly head: string;
  readonly compacted: string;
  readonly revision: string | null;
  readonly operation: number;
  readonly version: string;
  readonly body: Uint8Array;
  /** The transaction that has written the row. */
  readonly grouped: string;
  readonly at_ms: number;
}

/** A page of the history after a revision. All of a transaction have its number, which groups requests that were merged. */
export async function readCommits(client: Sql, after: number): Promise<CommitPage & SeenRevision> {
  const rows = await client<CommitRow[]>`
    SELECT content_epoch() AS line, s.revision AS head, s.compacted, c.revision, c.operation, c.version, c.body,
      c.grouped, c.at_ms,
      (SELECT last_value FROM durable_revision) AS durable, (SELECT last_value FROM server_life) AS life
    FROM store s LEFT JOIN (
      SELECT e.revision, e.operation, e.version, e.body, e.grouped, e.at_ms,
        e.written - min(e.written - octet_length(e.body)) OVER () - octet_length(e.body) AS before
      FROM (
        SELECT revision, operation, version, body, written, xmin::text AS grouped,
          (extract(epoch FROM at) * 1000)::float8 AS at_ms
        FROM event WHERE revision > ${after} ORDER BY revision LIMIT ${PAGE_ROWS}
      ) e
    ) c ON c.before < ${PAGE_BYTES} AND s.compacted <= ${after} ORDER BY c.revision`;
  const [first] = rows;
  if (first === undefined) throw new StorageError("STORAGE_INCONSISTENT", "the store has no row");
  const commits = rows.flatMap((row) =>
    row.revision === null ? [] : [toCommit(row, Number(row.revision))],
  );
  for (const [index, { revision }] of commits.entries()) {
    if (revision === after + index + 1) continue;
    throw new StorageError("STORAGE_CORRUPT", `the history has no commit ${after + index + 1}`);
  }
  return {
    line: first.line,
    compacted: Number(first.compacted),
    revision: Number(first.head),
    durable: Number(first.durable),
    life: String(first.life),
    commits,
  };
}

function toCommit(row: CommitRow, revision: number): HistoryCommit {
  const { operation, at_ms: atMs, grouped: group } = row;
  try {
    const resource = fromBodyRow(row);
    return { revision, operation: operation === 2 ? "delete" : "upsert", resource, atMs, group };
  } catch (error) {
    const { message } = StorageError.from(error);
    throw new StorageError("STORAGE_CORRUPT", `commit ${revision} of the history: ${message}`, {
      cause: error,
    });
  }
}
