import { listResources, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { IDEMPOTENCY_KEPT_MS, SERVER_KINDS } from "../domain/server-kinds.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** Removes the stored answers that are repeated no more; resolves with their number. */
export async function expireIdempotency(
  storage: StorageBackend,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  const { type } = SERVER_KINDS.idempotency;
  let removed = 0;
  for await (const resource of listResources(storage, "strong", type, ANYWHERE, "", { signal })) {
    const { createdAtMs } = decodeRecord(SERVER_KINDS.idempotency, resource);
    if (nowMs - Number(createdAtMs) <= IDEMPOTENCY_KEPT_MS) continue;
    await storage.deleteCAS(resource.id, resource.version);
    removed += 1;
  }
  return removed;
}
