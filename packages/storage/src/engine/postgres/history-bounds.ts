import { type ResolvedHistory, resolveHistory } from "../../feed/history-options.ts";
import type { Connections } from "./connections.ts";

/** Keeps bounds of the history in the store, for all instances. Where they are kept already nothing is written. */
export async function keepHistoryBounds(
  connections: Connections,
  { events, bytes, maxAgeMs }: ResolvedHistory,
): Promise<void> {
  await connections.run(
    "write",
    (sql) => sql`
      INSERT INTO history_bounds AS kept (id, events, bytes, max_age_ms)
        VALUES (1, ${events}, ${bytes}, ${maxAgeMs ?? null})
        ON CONFLICT (id) DO UPDATE
          SET events = excluded.events, bytes = excluded.bytes, max_age_ms = excluded.max_age_ms
          WHERE (kept.events, kept.bytes, kept.max_age_ms)
            IS DISTINCT FROM (excluded.events, excluded.bytes, excluded.max_age_ms)`,
  );
}

/** The bounds of the history that the store keeps; the defaults where it keeps none. */
export async function readHistoryBounds(connections: Connections): Promise<ResolvedHistory> {
  const [row] = await connections.run(
    "read",
    (sql) => sql`SELECT events, bytes, max_age_ms AS age FROM history_bounds`,
  );
  const numberOf = (value: unknown): number | undefined =>
    value === null || value === undefined ? undefined : Number(value);
  return resolveHistory({
    ...(row !== undefined && { events: Number(row["events"]), bytes: Number(row["bytes"]) }),
    maxAgeMs: numberOf(row?.["age"]),
  });
}
