import type { DatabaseSync } from "node:sqlite";
import { UPSERT } from "./group-writer.ts";
import type { BodyRow, CommitRow, CommitRowPage } from "./protocol.ts";

/** Bytes of bodies in a page, beside a last one of any size. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Most commits of a page. */
const PAGE_ROWS = 4_096;

/** A page of the history after a revision, with the times where the layout has them. */
export function readCommits(
  database: DatabaseSync,
  after: number,
  isDated: boolean,
): CommitRowPage {
  database.exec("BEGIN");
  try {
    const store = database.prepare("SELECT epoch, revision, compacted FROM store").get();
    const line = String(store?.epoch);
    const revision = Number(store?.revision);
    const compacted = Number(store?.compacted);
    const commits: CommitRow[] = [];
    if (after < compacted || after > revision) return { line, revision, compacted, commits };
    let bytes = 0;
    const rows = database
      .prepare(
        `SELECT revision, operation, version, body, checksum, ${isDated ? "at" : "NULL AS at"} FROM event ` +
          "WHERE revision > ? ORDER BY revision LIMIT ?",
      )
      .iterate(after, PAGE_ROWS) as unknown as Iterable<
      BodyRow & { revision: number; operation: number; at: number | null }
    >;
    for (const { revision: at, operation, version, body, checksum, at: atMs } of rows) {
      const kind = operation === UPSERT ? "upsert" : "delete";
      commits.push({ revision: at, operation: kind, version, body, checksum, atMs });
      bytes += body.byteLength;
      if (bytes >= PAGE_BYTES) break;
    }
    return { line, revision, compacted, commits };
  } finally {
    database.exec("COMMIT");
  }
}
