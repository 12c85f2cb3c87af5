import {
  type RunTicket,
  RunTicket_Class,
  RunTicket_Step,
  type StackQueue,
} from "@stackwright/proto/stackwright";
import { RUN_KIND, type RunReference, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isAt, isSpeculative, move, phaseOf, readRun } from "./run-row.ts";
import { leaveQueue } from "./stack-queue.ts";
import type { Row, Transaction } from "./transaction.ts";

const HOUR_MS = 3_600_000;

/** How long a run that only plans waits for a worker unless the server says otherwise: one day. */
export const DEFAULT_PLAN_WAIT_MS = 24 * HOUR_MS;

/** Whether a ticket is of a run that only plans and that no worker has claimed within a time. */
export function hasWaitedTooLong(
  { class: ticketClass, step, claim, createdAtMs }: RunTicket,
  nowMs: number,
  planWaitMs: number,
): boolean {
  return (
    ticketClass === RunTicket_Class.CLASS_SPECULATIVE &&
    step === RunTicket_Step.STEP_PLAN &&
    claim === undefined &&
    nowMs - Number(createdAtMs) > planWaitMs
  );
}

/** Ends a run that only plans and has waited for a worker for too long. Resolves with the number of runs that ended. */
export async function endWaitingPlan(
  tx: Transaction,
  reference: RunReference,
  { actor, planWaitMs }: { readonly actor: string; readonly planWaitMs: number },
): Promise<number> {
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
  if (ticket === undefined || !hasWaitedTooLong(ticket.message, tx.nowMs, planWaitMs)) return 0;
  const run = await readRun(tx, reference);
  if (!isAt(run, "queued")) return 0;
  const hours = Math.round((planWaitMs / HOUR_MS) * 10) / 10;
  await move(tx, run, "canceled", actor, {
    reason: `no worker made the plan within ${hours} ${hours === 1 ? "hour" : "hours"}; request it again`,
    reasonCode: "waited_too_long",
  });
  tx.remove(ticket);
  await leaveQueue(tx, reference);
  return 1;
}

/** Runs that one request ends: the ticket of each is a guard, of which a batch has few. The next request ends further ones. */
const MAX_SUPERSEDED_PLANS = 2;

/**
 * Ends the older runs of one source that only plan and wait for a worker: their plans would be of what is out of date. Those of other
 * authors stay, as a name of a source is no secret, and so does what a worker has.
 */
export async function supersedePlans(
  tx: Transaction,
  queue: Row<StackQueue>,
  { stack, run: by }: RunReference,
  { actor, source }: { readonly actor: string; readonly source: string },
): Promise<void> {
  if (source === "") return;
  const change = { reason: `superseded by the run ${by}`, supersededBy: by };
  const ended = new Set<string>();
  for (const id of queue.message.speculative) {
    if (ended.size === MAX_SUPERSEDED_PLANS) break;
    const reference = { stack, run: id };
    const row = await tx.find(RUN_KIND, runPlace(reference));
    if (row === undefined) continue;
    const { message } = row;
    const run = { reference, row, phase: phaseOf(message) };
    if (message.source !== source || message.actor !== actor || !isSpeculative(message)) continue;
    const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
    if (!isAt(run, "queued") || ticket?.message.claim !== undefined) continue;
    await move(tx, run, "superseded", actor, change);
    if (ticket !== undefined) tx.remove(ticket);
    ended.add(id);
  }
  if (ended.size === 0) return;
  tx.update(queue, { speculative: queue.message.speculative.filter((id) => !ended.has(id)) });
}
