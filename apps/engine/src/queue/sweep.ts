import { isEnded } from "@stackwright/core";
import { RunTicket_Step } from "@stackwright/proto/stackwright";
import { type CallOptions, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  DEFAULT_POOL,
  memberPlace,
  RUN_KIND,
  type RunReference,
  runOfTicket,
  runPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "./choose-ticket.ts";
import { phaseOf } from "./run-row.ts";
import { freeTicket, leaveQueue, readQueue } from "./stack-queue.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** The tickets of all projects. */
export async function listTickets(
  { storage }: Pick<TransactionParts, "storage">,
  options?: CallOptions,
): Promise<readonly ListedTicket[]> {
  const { type } = SERVER_KINDS.ticket;
  const found = await storage.list("strong", type, ANYWHERE, `${DEFAULT_POOL}.`, options);
  return found.map((resource) => ({
    id: resource.id,
    ticket: decodeRecord(SERVER_KINDS.ticket, resource),
  }));
}

/**
 * Repairs what no writer leaves and a foreign one may: tickets of ended runs, queues whose current run has ended or has no
 * ticket where it needs one. Reads tickets and queues, never lists of runs. Resolves with the number of repairs.
 */
export async function sweepQueues(parts: TransactionParts, options?: CallOptions): Promise<number> {
  let repairs = 0;
  for (const { id, ticket } of await listTickets(parts, options)) {
    const reference = runOfTicket(id.tenancy, ticket);
    repairs += await transact(parts, async (tx) => removeStrayTicket(tx, reference));
  }
  const { type } = SERVER_KINDS.queue;
  for (const resource of await parts.storage.list("strong", type, ANYWHERE, "", options)) {
    const { tenancy, name } = resource.id;
    const stack = { account: tenancy.partition, project: tenancy.namespace, stack: name };
    const { current } = decodeRecord(SERVER_KINDS.queue, resource);
    if (current === "") continue;
    repairs += await transact(parts, async (tx) => repairCurrent(tx, { stack, run: current }));
  }
  return repairs;
}

async function removeStrayTicket(tx: Transaction, reference: RunReference): Promise<number> {
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
  const run = await tx.find(RUN_KIND, runPlace(reference));
  if (ticket === undefined || (run !== undefined && !isEnded(phaseOf(run.message)))) return 0;
  tx.remove(ticket);
  return 1;
}

/** What the current run of a queue needs a worker for, by its phase. */
async function repairCurrent(tx: Transaction, reference: RunReference): Promise<number> {
  const { stack, run: id } = reference;
  const queue = await readQueue(tx, stack);
  if (queue.message.current !== id) return 0;
  const run = await tx.find(RUN_KIND, memberPlace(stack, id));
  const phase = run && phaseOf(run.message);
  if (phase === undefined || isEnded(phase)) {
    await leaveQueue(tx, reference);
    return 1;
  }
  const step = STEP_OF[phase];
  if (run === undefined || step === undefined) return 0;
  if ((await tx.find(SERVER_KINDS.ticket, ticketPlace(reference))) !== undefined) return 0;
  tx.guardRow(run);
  tx.create(SERVER_KINDS.ticket, ticketPlace(reference), freeTicket(reference, step, tx.nowMs));
  return 1;
}

const STEP_OF: Readonly<Partial<Record<ReturnType<typeof phaseOf>, RunTicket_Step>>> = {
  queued: RunTicket_Step.STEP_PLAN,
  approved: RunTicket_Step.STEP_APPLY,
  applying: RunTicket_Step.STEP_RECOVER,
};
