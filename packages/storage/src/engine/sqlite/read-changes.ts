import type { DatabaseSync } from "node:sqlite";
import { UPSERT } from "./group-writer.ts";
import type { BodyRow, ChangePage, EventRow } from "./protocol.ts";

/** The position of a store, and at most `limit` events after a revision if one is given. */
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
    const rows = database
      .prepare(
        "SELECT revision, operation, version, body, checksum FROM event " +
          "WHERE revision > ? ORDER BY revision LIMIT ?",
      )
      .all(after, limit) as unknown as readonly (BodyRow & {
      revision: number;
      operation: number;
    })[];
    const events = rows.map(
      (row): EventRow => ({
        revision: row.revision,
        operation: row.operation === UPSERT ? "upsert" : "delete",
        version: row.version,
        body: row.body,
        checksum: row.checksum,
      }),
    );
    return { epoch, revision, events };
  } finally {
    database.exec("COMMIT");
  }
}
