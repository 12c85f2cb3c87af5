import { isEngineError } from "@stackwright/core/errors";
import { tenancyOf } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { FENCE_KIND, runOfTicket, WORKER_LEASE } from "../domain/run-places.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

/** How long a step waits for a server that has the key of its stack: then its run ends with `key_unavailable`. */
export const KEY_WAIT_MS = 600_000;

type Parts = Pick<StoredClaimParts, "storage" | "keys" | "clock">;

/**
 * Whether a step is left to another server, as this one cannot decrypt the data keys of its stack: as long as there is another server, and
 * the step has not waited for too long. Who is alone claims it, and its run ends with the reason.
 */
export async function isLeftToOthers(parts: Parts, { id, ticket }: ListedTicket): Promise<boolean> {
  const { keys, clock } = parts;
  if (clock.wallMs() - Number(ticket.createdAtMs) >= KEY_WAIT_MS) return false;
  try {
    await keys.dataKeys(runOfTicket(id.tenancy, ticket).stack);
    return false;
  } catch (error) {
    // All else is found out, and reported, by who claims it.
    if (!isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) return false;
  }
  return hasSeveralServers(parts);
}

/** Each server has the lease of its worker, also one that executes nothing. Those of remote workers have a dot in their names. */
async function hasSeveralServers({ storage }: Parts): Promise<boolean> {
  const site = tenancyOf({ kind: "site" });
  const fences = await storage.list("strong", FENCE_KIND.type, site, WORKER_LEASE);
  const owners = fences
    .map((one) => decodeRecord(FENCE_KIND, one).owner)
    .filter((owner) => owner !== "" && !owner.includes("."));
  return owners.length > 1;
}
