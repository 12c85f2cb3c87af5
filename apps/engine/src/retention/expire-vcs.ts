import { VcsPullRequest_State } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecords, removeExpired } from "./expired-records.ts";

const DAY_MS = 24 * 3_600_000;
/** Longer than the time of a delivery may lie back. */
const DELIVERY_MS = 7 * DAY_MS;
const PULL_REQUEST_MS = 30 * DAY_MS;
/** One that stays open is looked at again when something of it is delivered. */
const OPEN_MS = 400 * DAY_MS;

/** Removes deliveries and pull requests of Git servers that are kept no longer; resolves with their number. */
export async function expireVcs(
  storage: StorageBackend,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  const { vcsDelivery, vcsPullRequest } = SERVER_KINDS;
  let removed = 0;
  for await (const one of readableRecords(storage, vcsDelivery, signal)) {
    if (nowMs - Number(one.message.receivedAtMs) <= DELIVERY_MS) continue;
    if (await removeExpired(storage, one)) removed += 1;
  }
  for await (const one of readableRecords(storage, vcsPullRequest, signal)) {
    const { updatedAtMs, state } = one.message;
    const keptMs = state === VcsPullRequest_State.STATE_OPEN ? OPEN_MS : PULL_REQUEST_MS;
    if (nowMs - Number(updatedAtMs) <= keptMs) continue;
    if (await removeExpired(storage, one)) removed += 1;
  }
  return removed;
}
