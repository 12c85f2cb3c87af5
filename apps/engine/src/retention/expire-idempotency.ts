import type { StorageBackend } from "@stackwright/storage";
import { IDEMPOTENCY_KEPT_MS, SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecords, removeExpired } from "./expired-records.ts";

/** Removes the stored answers that are repeated no more; resolves with their number. */
export async function expireIdempotency(
  storage: StorageBackend,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for await (const one of readableRecords(storage, SERVER_KINDS.idempotency, signal)) {
    if (nowMs - Number(one.message.createdAtMs) <= IDEMPOTENCY_KEPT_MS) continue;
    if (await removeExpired(storage, one)) removed += 1;
  }
  return removed;
}
