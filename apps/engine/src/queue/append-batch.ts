import { ServerError } from "../domain/server-error.ts";
import { appendEvents, type TimedEvent } from "./append-events.ts";
import { type RunClaim, requireClaim } from "./claim.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/**
 * Appends a numbered batch of events to the log of a claimed run. A batch that is sent again, because the answer was lost, is stored
 * once: the claim has the number of the newest one. `conflict` for a batch that skips one.
 */
export async function appendBatch(
  parts: TransactionParts,
  claim: RunClaim,
  batch: number,
  events: readonly TimedEvent[],
): Promise<void> {
  await transact(parts, async (tx) => {
    const ticket = await requireClaim(tx, claim);
    const { claim: stored } = ticket.message;
    if (stored === undefined) throw new ServerError("claim_lost");
    const newest = Number(stored.eventBatch);
    if (batch <= newest) return;
    if (batch !== newest + 1) {
      throw new ServerError("conflict", `the batch ${batch} of events does not follow ${newest}`);
    }
    tx.update(ticket, { claim: { ...stored, eventBatch: BigInt(batch) } });
    await appendEvents(tx, claim.reference, events);
  });
}
