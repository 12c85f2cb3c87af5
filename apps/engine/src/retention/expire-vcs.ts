import { VcsPullRequest_State } from "@stackwright/proto/stackwright";
import { listResources, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
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
  for await (const one of listResources(storage, "strong", vcsDelivery.type, ANYWHERE, "", {
    signal,
  })) {
    const { receivedAtMs } = decodeRecord(vcsDelivery, one);
    if (nowMs - Number(receivedAtMs) <= DELIVERY_MS) continue;
    await storage.deleteCAS(one.id, one.version);
    removed += 1;
  }
  for await (const one of listResources(storage, "strong", vcsPullRequest.type, ANYWHERE, "", {
    signal,
  })) {
    const { updatedAtMs, state } = decodeRecord(vcsPullRequest, one);
    const keptMs = state === VcsPullRequest_State.STATE_OPEN ? OPEN_MS : PULL_REQUEST_MS;
    if (nowMs - Number(updatedAtMs) <= keptMs) continue;
    await storage.deleteCAS(one.id, one.version);
    removed += 1;
  }
  return removed;
}
