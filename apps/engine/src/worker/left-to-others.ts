import type { StoredKeys } from "@stackwright/core";
import { runOfTicket } from "../domain/run-places.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import type { LiveServers } from "./live-servers.ts";

/**
 * Whether a step is left to another server, as this one cannot decrypt the data keys of its stack: as long as one that can lives, or was
 * seen a moment ago. Where none can, who looks claims the step, and its run ends with the reason.
 */
export async function isLeftToOthers(
  { keys }: { readonly keys: Pick<StoredKeys, "keyIds" | "list"> },
  servers: Pick<LiveServers, "mayHave">,
  one: ListedTicket,
): Promise<boolean> {
  const needed = await neededKeys(keys, one);
  if (needed.every((id) => keys.keyIds.includes(id))) return false;
  return servers.mayHave(needed);
}

/** The key-encryption keys that the stack of a step needs; none where that cannot be said now. */
async function neededKeys(
  keys: Pick<StoredKeys, "list">,
  { id, ticket }: ListedTicket,
): Promise<readonly string[]> {
  try {
    const stored = await keys.list(runOfTicket(id.tenancy, ticket).stack);
    return [...new Set(stored.map(({ wrappedBy }) => wrappedBy))].toSorted();
  } catch {
    // All else is found out, and reported, by who claims it.
    return [];
  }
}
