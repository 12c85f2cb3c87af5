import type { DatabaseSync } from "node:sqlite";
import { isSameHistory, type ResolvedHistory, resolveHistory } from "../../feed/history-options.ts";
import { BOUNDED_LAYOUT, pragmaNumber } from "./schema.ts";

/**
 * The bounds of the history of a store that is open for writing: those that are given, which are kept for later writers, or else those
 * that are kept, and the defaults where none are.
 */
export function settleHistoryBounds(
  database: DatabaseSync,
  given: ResolvedHistory | undefined,
): ResolvedHistory {
  const kept = keptBounds(database);
  if (given === undefined) return kept ?? resolveHistory();
  if (kept === undefined || !isSameHistory(kept, given)) {
    database
      .prepare("INSERT OR REPLACE INTO history (id, events, bytes, max_age_ms) VALUES (1, ?, ?, ?)")
      .run(given.events, given.bytes, given.maxAgeMs ?? null);
  }
  return given;
}

/** The bounds that writers keep to, of a store of any layout. */
export function readHistoryBounds(database: DatabaseSync): ResolvedHistory {
  const isBounded = pragmaNumber(database, "user_version") >= BOUNDED_LAYOUT;
  return (isBounded ? keptBounds(database) : undefined) ?? resolveHistory();
}

function keptBounds(database: DatabaseSync): ResolvedHistory | undefined {
  const row = database.prepare("SELECT events, bytes, max_age_ms FROM history").get();
  return (
    row && {
      events: Number(row["events"]),
      bytes: Number(row["bytes"]),
      maxAgeMs: row["max_age_ms"] === null ? undefined : Number(row["max_age_ms"]),
    }
  );
}
