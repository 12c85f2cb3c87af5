import { isEnded } from "@stackwright/core";
import { type Run, RunTicket_Step } from "@stackwright/proto/stackwright";
import type { Guard, ResourceId } from "@stackwright/storage";
import { FENCE_KIND, runOfTicket } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { canceledReason } from "./cancel-reason.ts";
import { noteStuckRun } from "./note-stuck-run.ts";
import { isBlockedRecovery, RECOVERY_BLOCKED } from "./recovery-block.ts";
import { requestRollback } from "./request-rollback.ts";
import { isAt, move, phaseOf, readRun } from "./run-row.ts";
import { leaveQueue } from "./stack-queue.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "./transaction.ts";

/** Claims of one step that may end without a result before the run fails. */
const MAX_ATTEMPTS = 3;
/** The same for the recovery of an apply, which has to outlast a provider or a store that is away for minutes. */
const MAX_RECOVERIES = 10;
/** Characters of the reason of a recovery that waits. */
const MAX_REASON = 4_096;

/** A claim that ended without a result. */
interface DeadClaim {
  readonly ticket: ResourceId;
  /** Worker of the claim. */
  readonly worker: string;
  /** The token of the claim. @default whichever claim the worker has */
  readonly tokenDigest?: string;
  /** The lease of that worker as the caller holds it: its own, or stolen from a dead worker. */
  readonly guard: Guard;
  /** Who releases it. */
  readonly actor: string;
  readonly reason: string;
  /** The worker ends in an orderly way: the claim is no attempt that failed. @default false */
  readonly isReturned?: boolean;
  /** A recovery waits for something that users end, which the reason says: the claim is no attempt that failed. @default false */
  readonly isBlocked?: boolean;
}

/**
 * Gives a ticket back whose worker or executor died: the run is planned again, or applied by the next worker; one that was
 * being applied is recovered. After three attempts a run that changed nothing fails. After ten a run that cannot be
 * recovered fails: the operations that it left open stay in the state, and planning the next run resolves them. A recovery that waits
 * for something which users end uses up none of them. False where
 * the ticket is no longer the dead worker's, or not that of this claim.
 */
export async function releaseClaim(parts: TransactionParts, dead: DeadClaim): Promise<boolean> {
  const { ticket: id, worker, tokenDigest, guard, actor, reason } = dead;
  const { isReturned = false, isBlocked = false } = dead;
  return transact(parts, async (tx): Promise<boolean> => {
    const ticket = await tx.find(SERVER_KINDS.ticket, id);
    const claim = ticket?.message.claim;
    if (ticket === undefined || claim?.worker !== worker) return false;
    if (tokenDigest !== undefined && claim.tokenDigest !== tokenDigest) return false;
    const fence = await tx.find(FENCE_KIND, guard.id);
    if (fence?.resource.version !== guard.version) return false;
    tx.guard(guard);
    const reference = runOfTicket(id.tenancy, ticket.message);
    const run = await readRun(tx, reference);
    if (isEnded(run.phase)) {
      tx.remove(ticket);
      return true;
    }
    const attempts = ticket.message.attempts + (isReturned || isBlocked ? 0 : 1);
    const free = {
      claim: undefined,
      attempts,
      freeSinceMs: BigInt(tx.nowMs),
      stuckNotedAtMs: 0n,
    };
    if (isAt(run, "applying")) {
      const { cancel } = run.row.message;
      // A user gave up waiting while it was tried once more.
      const isGivenUp =
        isBlockedRecovery(run.row.message) && cancel !== undefined && cancel.atMs >= claim.sinceMs;
      if (attempts < MAX_RECOVERIES && !isGivenUp) {
        if (isBlocked) await recordBlock(tx, run, reason);
        else recordAttempts(tx, run.row, attempts);
        tx.update(ticket, { ...free, step: RunTicket_Step.STEP_RECOVER });
        return true;
      }
      const failure = cancel === undefined ? reason : canceledReason(cancel, reason);
      await move(tx, run, "failed", actor, { reason: failure, reasonCode: "recovery_failed" });
      tx.remove(ticket);
      await leaveQueue(tx, reference);
      await requestRollback(tx, reference, run.row);
      return true;
    }
    const { cancel } = run.row.message;
    if (cancel !== undefined && isAt(run, "preparing", "planning", "planned", "approved")) {
      await move(tx, run, "canceled", actor, { reason: `canceled by ${cancel.actor}` });
    } else if (attempts >= MAX_ATTEMPTS && isAt(run, "preparing", "planning", "approved")) {
      const failure = { reason, reasonCode: "worker_lost" };
      await move(tx, run, "failed", actor, failure);
    } else {
      if (isAt(run, "preparing", "planning", "planned")) {
        await move(tx, run, "queued", actor, { planDigest: "", approvals: [], reason, attempts });
      } else recordAttempts(tx, run.row, attempts);
      tx.update(ticket, free);
      return true;
    }
    tx.remove(ticket);
    await leaveQueue(tx, reference);
    if (phaseOf(run.row.message) === "failed") await requestRollback(tx, reference, run.row);
    return true;
  });
}

/** What a recovery waits for: in the run, and once for each reason in its log and for destinations. */
async function recordBlock(
  tx: Transaction,
  found: Awaited<ReturnType<typeof readRun>>,
  given: string,
): Promise<void> {
  const { row, reference } = found;
  const run = row.message;
  const reason = given.slice(0, MAX_REASON);
  if (isBlockedRecovery(run) && run.reason === reason) {
    tx.guardRow(row);
    return;
  }
  tx.update(row, { reason, reasonCode: RECOVERY_BLOCKED, updatedAtMs: BigInt(tx.nowMs) });
  const summary = "The recovery waits";
  const event = { type: "diagnostic", severity: "warning", summary, detail: reason };
  await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
  if (isBlockedRecovery(run)) return;
  await noteStuckRun(tx, found, RECOVERY_BLOCKED);
}

/** What the ticket says as well, which may be lost. A run of which it says so already only must not end at this moment. */
function recordAttempts(tx: Transaction, row: StoredRow<Run>, attempts: number): void {
  // What it waited for has come.
  const free = isBlockedRecovery(row.message) ? { reason: "", reasonCode: "" } : {};
  const isSame = row.message.attempts === attempts && row.message.reasonCode !== RECOVERY_BLOCKED;
  if (isSame) tx.guardRow(row);
  else tx.update(row, { attempts, ...free });
}
