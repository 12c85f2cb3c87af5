import { RunTicket_Step } from "@stackwright/proto/stackwright";
import type { ResourceId } from "@stackwright/storage";
import { type RunReference, runOfTicket, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { passFreezes } from "../queue/freeze.ts";
import { noteStuckRun } from "../queue/note-stuck-run.ts";
import { isSpeculative, readRun } from "../queue/run-row.ts";
import { passLock } from "../queue/stack-lock.ts";
import { type StuckBounds, type StuckStep, stuckStep } from "../queue/stuck-steps.ts";
import { listAllTickets } from "../queue/sweep.ts";
import { type Transaction, transact } from "../queue/transaction.ts";
import { traceIdOf } from "../span/trace-context.ts";
import type { NotificationParts } from "./notification-parts.ts";

/** What an event says of the reason. */
const CODES: Readonly<Record<StuckStep["why"], string>> = {
  unclaimed: "step_unclaimed",
  silent: "step_silent",
};

/**
 * Notes which steps of runs are stuck: once for each time, for destinations as an event and for metrics in the ticket. What goes on again is
 * stuck no longer. The time of a step that a lock or freeze holds up begins anew now and then, so that workers have time to take those that
 * come free together. Any number of servers may do so.
 */
export async function noteStuckSteps(
  parts: Pick<NotificationParts, "storage" | "clock" | "token" | "random" | "logger">,
  bounds: StuckBounds,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = parts;
  for (const { id, ticket } of await listAllTickets(parts, { signal })) {
    // Whatever its log says, so that few logs are read.
    const isSuspect = stuckStep(ticket, 0n, clock.wallMs(), halfOf(bounds)) !== undefined;
    if (!isSuspect && ticket.stuckNotedAtMs === 0n) continue;
    const reference = runOfTicket(id.tenancy, ticket);
    try {
      await transact(parts, async (tx) => noteStep(tx, { ticketId: id, reference, bounds }));
    } catch (error) {
      if (signal.aborted) throw error;
      const { run, traceParent } = ticket;
      const traceId = traceIdOf(run, traceParent);
      logger.error({ run, traceId, err: error }, "a step cannot be examined");
    }
  }
}

/** When the time of a step that is held up begins anew: it is free for half of the bound at least before it is stuck. */
function halfOf({ unclaimedMs, silentMs }: StuckBounds): StuckBounds {
  return { unclaimedMs: unclaimedMs / 2, silentMs };
}

interface NotedStep {
  readonly ticketId: ResourceId;
  readonly reference: RunReference;
  readonly bounds: StuckBounds;
}

async function noteStep(
  tx: Transaction,
  { ticketId, reference, bounds }: NotedStep,
): Promise<void> {
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketId);
  if (ticket === undefined) return;
  const log = await tx.find(SERVER_KINDS.log, runPlace(reference));
  const stored = await readRun(tx, reference);
  const run = stored.row.message;
  const found = stuckStep(ticket.message, log?.message.writtenAtMs ?? 0n, tx.nowMs, bounds);
  const isFree = ticket.message.claim === undefined;
  const { step, stuckNotedAtMs } = ticket.message;
  const isHeldUp =
    isFree &&
    step !== RunTicket_Step.STEP_RECOVER &&
    ((!isSpeculative(run) && !(await passLock(tx, reference.stack))) ||
      (step === RunTicket_Step.STEP_APPLY &&
        run.freezeOverride === undefined &&
        !(await passFreezes(tx, reference.stack))));
  if (isHeldUp && stuckStep(ticket.message, 0n, tx.nowMs, halfOf(bounds)) !== undefined) {
    tx.update(ticket, { freeSinceMs: BigInt(tx.nowMs), stuckNotedAtMs: 0n });
    return;
  }
  const isStuck = found !== undefined && !isHeldUp;
  if (isStuck === (stuckNotedAtMs !== 0n)) return;
  tx.update(ticket, { stuckNotedAtMs: isStuck ? BigInt(tx.nowMs) : 0n });
  // The run of a shadow is for the comparison alone.
  if (!isStuck || run.shadowOf !== "") return;
  await noteStuckRun(tx, stored, CODES[found.why]);
}
