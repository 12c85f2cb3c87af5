import type { Sql } from "postgres";
import { isStorageError } from "../../errors.ts";
import type { Commit, DamagedCommit } from "../../feed/commit.ts";
import { formatCursor } from "../../feed/cursor.ts";
import type { DurabilityRow, SeenRevision } from "./durable-reads.ts";
import { fromBodyRow } from "./rows.ts";

/** Bytes of bodies fetched at a time, beside a first one of any size. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** A stretch of the history. */
interface Changes extends SeenRevision {
  readonly epoch: string;
  /** The commits, or `undefined` when some of them are gone or were never there. */
  readonly commits: readonly (Commit | DamagedCommit)[] | undefined;
}

interface ChangeRow extends DurabilityRow {
  readonly epoch: string;
  readonly head: string;
  readonly compacted: string;
  readonly revision: string | null;
  readonly operation: number | null;
  readonly version: string | null;
  readonly body: Uint8Array | null;
}

/** Where the history ends. */
interface Head extends SeenRevision {
  readonly epoch: string;
}

/** Reads where the history ends. */
export async function readHead(client: Sql): Promise<Head> {
  const [row] = await client<(DurabilityRow & { epoch: string; revision: string })[]>`
    SELECT content_epoch() AS epoch, s.revision,
      (SELECT last_value FROM durable_revision) AS durable, (SELECT last_value FROM server_life) AS life
    FROM store s`;
  return { epoch: row?.epoch ?? "", ...seen(row, row?.revision) };
}

function seen(row: DurabilityRow | undefined, revision: string | undefined): SeenRevision {
  return { revision: Number(revision), durable: Number(row?.durable), life: String(row?.life) };
}

/**
 * The part of a stretch that is on disk, with the last of it as the end of the history; `undefined` where the stretch has to be
 * settled: it has commits up to `upTo` that are on disk, but are not known to be.
 *
 * The argument for a read as a whole holds for each of its commits: its session, and so the life of the server, has seen
 * them, and later in it that everything up to `durable` was on disk. That is the revision of a transaction's end.
 */
export function durableChanges(changes: Changes, upTo: number): Changes | undefined {
  const { commits, durable, revision, life } = changes;
  if (commits === undefined || life === "0") return undefined;
  if (durable < Math.min(upTo, revision)) return undefined;
  const kept = commits.filter((commit) => commit.revision <= durable);
  return { ...changes, commits: kept, revision: Math.min(revision, durable) };
}

/**
 * The commits after a revision, at most `limit` and only so many bytes, in order and without holes;
 * none only when there is none.
 */
export async function readChanges(client: Sql, after: number, limit: number): Promise<Changes> {
  // One statement, so that the rows and the counters are of one point in time. The subquery is
  // ordered by its own column: an output column of the same name would be sorted as text.
  const rows = await client<ChangeRow[]>`
    SELECT content_epoch() AS epoch, s.revision AS head, s.compacted, c.revision, c.operation,
      c.version, c.body,
      (SELECT last_value FROM durable_revision) AS durable, (SELECT last_value FROM server_life) AS life
    FROM store s LEFT JOIN (
      SELECT e.revision, e.operation, e.version, e.body,
        e.written - min(e.written - octet_length(e.body)) OVER () - octet_length(e.body) AS before
      FROM (SELECT * FROM event WHERE revision > ${after} ORDER BY revision LIMIT ${limit}) e
    ) c ON c.before < ${PAGE_BYTES} ORDER BY c.revision`;
  const [first] = rows;
  const epoch = first?.epoch ?? "";
  const head = seen(first, first?.head);
  const { revision } = head;
  if (after > revision || after < Number(first?.compacted)) {
    return { epoch, ...head, commits: undefined };
  }
  const commits: (Commit | DamagedCommit)[] = [];
  for (const row of rows) {
    const { body, version } = row;
    if (row.revision === null || body === null || version === null) continue;
    const at = Number(row.revision);
    // Revisions are dense: a hole means that the history was tampered with.
    if (at !== after + commits.length + 1) return { epoch, ...head, commits: undefined };
    const operation = row.operation === 2 ? "delete" : "upsert";
    try {
      const resource = fromBodyRow({ body, version });
      commits.push({ revision: at, operation, resource, cursor: formatCursor(epoch, at) });
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      commits.push({ revision: at, reason: error.message });
    }
  }
  const isGone = commits.length === 0 && after < revision;
  return { epoch, ...head, commits: isGone ? undefined : commits };
}
