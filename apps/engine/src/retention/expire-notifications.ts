import { listResources, type Resource, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
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
  const remove = async ({ id, version }: Pick<Resource, "id" | "version">): Promise<void> => {
    await storage.deleteCAS(id, version);
    removed += 1;
  };
  for await (const one of listResources(storage, "strong", kind.type, ANYWHERE, "", { signal })) {
    const { id, version } = one;
    if (nowMs - Number(decodeRecord(kind, one).endedAtMs) > DELIVERY_MS) await remove(one);
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
