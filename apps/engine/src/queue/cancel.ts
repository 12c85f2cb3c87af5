import { isEnded, type RunPhase } from "@stackwright/core";
import { type RunReference, ticketPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { isBlockedRecovery } from "./recovery-block.ts";
import { isAt, move, readServerRun, requireAt } from "./run-row.ts";
import { leaveQueue } from "./stack-queue.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** What became of a request to cancel. */
type CancelOutcome = "canceled" | "requested";

interface CancelRequest {
  readonly actor: string;
  /** Ends it at once. @default false */
  readonly force?: boolean;
  /** In which the run is canceled; `illegal_transition` in another one. @default each */
  readonly phases?: readonly RunPhase[];
}

/** How long the first stage lasts before the second may be requested without force. */
const STAGE_2_AFTER_MS = 30_000;

/**
 * Cancels a run. Without a worker it ends in this step. Otherwise the executor is asked to begin nothing more (stage 1); a
 * second request, 30 s later or with force, ends it (stage 2), and what was being called is resolved by the recovery. A recovery that
 * waits is given up: the run fails, and the operations that it left open stay in the state until the next run is planned.
 */
export async function cancelRun(
  parts: TransactionParts,
  reference: RunReference,
  { actor, force = false, phases }: CancelRequest,
): Promise<CancelOutcome> {
  return transact(parts, async (tx): Promise<CancelOutcome> => {
    const run = await readServerRun(tx, reference);
    const { message } = run.row;
    if (phases !== undefined) requireAt(run, ...phases);
    if (isEnded(run.phase)) requireAt(run, "applying");
    const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
    const isClaimed = ticket?.message.claim !== undefined;
    if (!isClaimed && !isAt(run, "applying")) {
      const waiting = requireAt(
        run,
        "queued",
        "preparing",
        "planning",
        "planned",
        "awaiting_approval",
        "approved",
        "policy_failed",
      );
      await move(tx, waiting, "canceled", actor, { reason: `canceled by ${actor}` });
      // It may be given one at this moment, as its turn comes.
      if (ticket === undefined) tx.guardAbsent(SERVER_KINDS.ticket, ticketPlace(reference));
      else tx.remove(ticket);
      await leaveQueue(tx, reference);
      return "canceled";
    }
    if (!isClaimed && ticket !== undefined && isBlockedRecovery(message)) {
      const blocked = requireAt(run, "applying");
      const reason = `canceled by ${actor} while the recovery waited: ${message.reason}`;
      await move(tx, blocked, "failed", actor, { reason, reasonCode: "recovery_failed" });
      tx.remove(ticket);
      await leaveQueue(tx, reference);
      return "canceled";
    }
    const { cancel } = message;
    const stage = force || cancel !== undefined ? 2 : 1;
    if (cancel !== undefined && cancel.stage >= stage) return "requested";
    if (cancel !== undefined && !force && tx.nowMs - Number(cancel.atMs) < STAGE_2_AFTER_MS) {
      throw new ServerError(
        "conflict",
        "the run is being canceled; a request to end it at once is possible 30 s later, or with force",
      );
    }
    tx.update(run.row, {
      cancel: { stage, actor, atMs: BigInt(tx.nowMs) },
      updatedAtMs: BigInt(tx.nowMs),
    });
    await appendEvents(tx, reference, [{ at: tx.nowMs, event: { type: "cancel", stage, actor } }]);
    return "requested";
  });
}
