import type { DatabaseSync } from "node:sqlite";
import { UPSERT } from "./group-writer.ts";
import type { BodyRow, ChangePage, EventRow } from "./protocol.ts";

/** Bytes of bodies in a page, beside a last one of any size. */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * The position of a store, and at most `limit` events after a revision if one is given, and only so many
 * bytes of them; none only when there is none.
 */
export function readChanges(
  database: DatabaseSync,
  after: number | undefined,
  limit: number,
): ChangePage {
  database.exec("BEGIN");
  try {
    const store = database.prepare("SELECT epoch, revision, compacted FROM store").get();
    const epoch = String(store?.epoch);
    const revision = Number(store?.revision);
    if (after === undefined) return { epoch, revision, events: [] };
    if (after < Number(store?.compacted) || after > revision) {
      return { epoch, revision, events: undefined };
    }
    const events: EventRow[] = [];
    let bytes = 0;
    const rows = database
      .prepare(
        "SELECT revision, operation, version, body, checksum FROM event " +
          "WHERE revision > ? ORDER BY revision LIMIT ?",
      )
      .iterate(after, limit) as unknown as Iterable<
      BodyRow & { revision: number; operation: number }
    >;
    for (const row of rows) {
      events.push({
        revision: row.revision,
        operation: row.operation === UPSERT ? "upsert" : "delete",
        version: row.version,
        body: row.body,
        checksum: row.checksum,
      });
      bytes += row.body.byteLength;
      if (bytes >= PAGE_BYTES) break;
    }
    return { epoch, revision, events };
  } finally {
    database.exec("COMMIT");
  }
}
