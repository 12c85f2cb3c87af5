import type { Resource, StorageBackend } from "@stackwright/storage";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecords, removeExpired } from "./expired-records.ts";

const DELIVERY_MS = 7 * 24 * 3_600_000;
/** Newest deliveries of a destination that stay. */
const PER_DESTINATION = 500;

/** Removes deliveries of notifications that ended 7 days ago, or that their destination has many newer ones of; resolves with their number. */
export async function expireNotifications(
  storage: StorageBackend,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  const kind = SERVER_KINDS.notificationDelivery;
  const kept = new Map<string, Pick<Resource, "id" | "version">[]>();
  let removed = 0;
  const remove = async (one: Pick<Resource, "id" | "version">): Promise<void> => {
    if (await removeExpired(storage, one)) removed += 1;
  };
  for await (const { id, version, message } of readableRecords(storage, kind, signal)) {
    if (nowMs - Number(message.endedAtMs) > DELIVERY_MS) await remove({ id, version });
    else {
      const [destination = ""] = id.name.split(".");
      const others = kept.get(destination);
      if (others === undefined) kept.set(destination, [{ id, version }]);
      else others.push({ id, version });
    }
  }
  for (const all of kept.values()) {
    // Their names end with ULIDs.
    const newestFirst = all.toSorted((a, b) => (a.id.name < b.id.name ? 1 : -1));
    for (const one of newestFirst.slice(PER_DESTINATION)) await remove(one);
  }
  return removed;
}
