import type { DatabaseSync } from "node:sqlite";
import { isSameHistory, type ResolvedHistory, resolveHistory } from "../../feed/history-options.ts";

/**
 * The bounds of the history of a store that is open for writing: those that are given, which are kept for later writers, or else those
 * that are kept, and the defaults where none are.
 */
export function settleHistoryBounds(
  database: DatabaseSync,
  given: ResolvedHistory | undefined,
): ResolvedHistory {
  const row = database.prepare("SELECT events, bytes, max_age_ms FROM history").get();
  const kept: ResolvedHistory | undefined = row && {
    events: Number(row["events"]),
    bytes: Number(row["bytes"]),
    maxAgeMs: row["max_age_ms"] === null ? undefined : Number(row["max_age_ms"]),
  };
  if (given === undefined) return kept ?? resolveHistory();
  if (kept === undefined || !isSameHistory(kept, given)) {
    database
      .prepare("INSERT OR REPLACE INTO history (id, events, bytes, max_age_ms) VALUES (1, ?, ?, ?)")
      .run(given.events, given.bytes, given.maxAgeMs ?? null);
  }
  return given;
}
