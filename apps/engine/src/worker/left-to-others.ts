import { isEngineError } from "@stackwright/core/errors";
import { runOfTicket } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import { isExecutable } from "../queue/run-protocol.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import type { LiveServers } from "./live-servers.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

/**
 * How long a step waits for a server that has the key of its stack, since one that has it not left it first, or one that has it was busy
 * last: then its run ends with `key_unavailable`.
 */
export const KEY_WAIT_MS = 600_000;
/** How old the time of a step is at least when a server that is busy sets it anew. */
const BUSY_MS = 60_000;

type Parts = TransactionParts & Pick<StoredClaimParts, "keys">;

/**
 * Whether a step is left to another server, as this one cannot decrypt the data keys of its stack: as long as another server lives, and
 * the step has not waited for it for too long. Who is alone claims it, and its run ends with the reason. Since when it waits is a field
 * of its ticket, so that all servers agree, also after a restart.
 */
export async function isLeftToOthers(
  parts: Parts,
  servers: Pick<LiveServers, "areSeveral">,
  { id, ticket }: ListedTicket,
): Promise<boolean> {
  const { keys, clock } = parts;
  const leftAtMs = Number(ticket.leftAtMs);
  if (leftAtMs !== 0 && clock.wallMs() - leftAtMs >= KEY_WAIT_MS) return false;
  // All else is found out, and reported, by who claims it.
  if ((await keyOf(keys, { id, ticket })) !== "missing") return false;
  if (!(await servers.areSeveral())) return false;
  if (leftAtMs === 0) await noteLeft(parts, id, 0n);
  return true;
}

/**
 * Says that the key of a step which others left is here, so that it goes on waiting: this server, or a worker that asks it, has only no
 * room for it yet.
 */
export async function vouchForKey(parts: Parts, { id, ticket }: ListedTicket): Promise<void> {
  const { keys, clock } = parts;
  if (ticket.claim !== undefined || ticket.leftAtMs === 0n || !isExecutable(ticket)) return;
  if (clock.wallMs() - Number(ticket.leftAtMs) < BUSY_MS) return;
  if ((await keyOf(keys, { id, ticket })) === "here") await noteLeft(parts, id, ticket.leftAtMs);
}

/** Whether this server can decrypt the data keys of the stack of a step; `unknown` where that cannot be said now. */
async function keyOf(
  keys: Parts["keys"],
  { id, ticket }: ListedTicket,
): Promise<"here" | "missing" | "unknown"> {
  try {
    await keys.dataKeys(runOfTicket(id.tenancy, ticket).stack);
    return "here";
  } catch (error) {
    return isEngineError(error, "ENGINE_KEY_UNAVAILABLE") ? "missing" : "unknown";
  }
}

/** Notes the present time in a ticket that is free, unless another server has done so since it was read. */
async function noteLeft(
  parts: Parts,
  { tenancy, name }: ListedTicket["id"],
  before: bigint,
): Promise<void> {
  await transact(parts, async (tx) => {
    const ticket = await tx.find(SERVER_KINDS.ticket, { tenancy, name });
    if (ticket === undefined || ticket.message.claim !== undefined) return;
    if (ticket.message.leftAtMs === before) tx.update(ticket, { leftAtMs: BigInt(tx.nowMs) });
  });
}
