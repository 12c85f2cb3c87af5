import type { Logger } from "@stackwright/base/logger";
import { isEnded } from "@stackwright/core";
import { RunTicket_Step } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, WILDCARD } from "@stackwright/storage";
import { mayReact, type ServerClock } from "../clock/server-clock.ts";
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
import { expireApproval } from "./expire-approval.ts";
import { listReadable, logDamaged } from "./list-readable.ts";
import { isAt, move, phaseOf } from "./run-row.ts";
import { freeTicket, leaveQueue, readQueue } from "./stack-queue.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";
import { DEFAULT_PLAN_WAIT_MS, endWaitingPlan, hasWaitedTooLong } from "./waiting-plans.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** The parts of what looks through all projects: damage of one is reported, and does not concern the others. */
type SweepParts = TransactionParts & { readonly logger?: Logger | undefined };

/** The tickets of all projects that can be read. */
export async function listTickets(
  { storage, logger }: Pick<SweepParts, "storage" | "logger">,
  options?: CallOptions,
): Promise<readonly ListedTicket[]> {
  return ticketsOf({ storage, logger }, `${DEFAULT_POOL}.`, options);
}

/** The tickets of all pools. */
export async function listAllTickets(
  parts: Pick<SweepParts, "storage" | "logger">,
  options?: CallOptions,
): Promise<readonly ListedTicket[]> {
  return ticketsOf(parts, "", options);
}

async function ticketsOf(
  { storage, logger }: Pick<SweepParts, "storage" | "logger">,
  prefix: string,
  options: CallOptions | undefined,
): Promise<readonly ListedTicket[]> {
  const onDamaged = logDamaged(logger);
  const found = await listReadable(storage, SERVER_KINDS.ticket, ANYWHERE, {
    ...options,
    prefix,
    onDamaged,
  });
  return found.map(({ id, message }) => ({ id, ticket: message }));
}

/** What a sweep of queues needs. */
interface QueueSweepParts extends SweepParts {
  /** How long a run that only plans may wait for a worker, in milliseconds. @default 24 hours */
  readonly planWaitMs?: number | undefined;
  /** What is known of the clock of this server. @default it is right */
  readonly serverClock?: ServerClock | undefined;
}

/**
 * Repairs what no writer leaves and a foreign one may: tickets of ended runs, queues whose current run has ended or has no
 * ticket where it needs one. Ends runs that only plan and have waited too long for a worker, and those whose time for an approval is over, unless the clock of this server is wrong: the others do it. Reads tickets and queues, never lists of runs. Resolves with the number of repairs.
 */
export async function sweepQueues(parts: QueueSweepParts, options?: CallOptions): Promise<number> {
  const { planWaitMs = DEFAULT_PLAN_WAIT_MS } = parts;
  const mayExpire = await mayReact(parts.serverClock);
  let repairs = 0;
  for (const { id, ticket } of await listTickets(parts, options)) {
    const reference = runOfTicket(id.tenancy, ticket);
    repairs += await repair(parts, reference, removeStrayTicket);
    if (!mayExpire || !hasWaitedTooLong(ticket, parts.clock.wallMs(), planWaitMs)) continue;
    repairs += await repair(parts, reference, async (tx) =>
      endWaitingPlan(tx, reference, { actor: SWEEP_ACTOR, planWaitMs }),
    );
  }
  const onDamaged = logDamaged(parts.logger);
  const queues = await listReadable(parts.storage, SERVER_KINDS.queue, ANYWHERE, {
    ...options,
    onDamaged,
  });
  for (const { id } of queues) {
    const { tenancy, name } = id;
    const stack = { account: tenancy.partition, project: tenancy.namespace, stack: name };
    repairs += await repair(parts, { stack, run: "" }, async (tx) =>
      repairCurrent(tx, stack, mayExpire),
    );
  }
  return repairs;
}

/** One repair in a transaction of its own. 0 where a record of the stack is damaged; rejects where the store is away. */
async function repair(
  parts: SweepParts,
  reference: RunReference,
  decide: (tx: Transaction, reference: RunReference) => Promise<number>,
): Promise<number> {
  try {
    return await transact(parts, async (tx) => decide(tx, reference));
  } catch (error) {
    if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
    parts.logger?.error({ ...reference, err: error }, "a queue could not be repaired");
    return 0;
  }
}

async function removeStrayTicket(tx: Transaction, reference: RunReference): Promise<number> {
  const ticket = await tx.find(SERVER_KINDS.ticket, ticketPlace(reference));
  const run = await tx.find(RUN_KIND, runPlace(reference));
  if (ticket === undefined || (run !== undefined && !isEnded(phaseOf(run.message)))) return 0;
  tx.remove(ticket);
  return 1;
}

/** Who moves a run that no worker has. */
const SWEEP_ACTOR = "server";

/** What the current run of a queue needs a worker for, by its phase. */
async function repairCurrent(
  tx: Transaction,
  stack: RunReference["stack"],
  mayExpire: boolean,
): Promise<number> {
  const queue = await readQueue(tx, stack);
  const { current: id } = queue.message;
  if (id === "") return 0;
  const reference = { stack, run: id };
  const run = await tx.find(RUN_KIND, memberPlace(stack, id));
  const phase = run && phaseOf(run.message);
  if (phase === undefined || isEnded(phase)) {
    await leaveQueue(tx, reference);
    return 1;
  }
  if (mayExpire && run !== undefined) {
    if (await expireApproval(tx, { reference, row: run, phase }, SWEEP_ACTOR)) return 1;
  }
  const step = STEP_OF[phase];
  if (run === undefined || step === undefined) return 0;
  if ((await tx.find(SERVER_KINDS.ticket, ticketPlace(reference))) !== undefined) return 0;
  // It may wait for the plan of another stack; what advances its set gives it a ticket.
  if (run.message.planSet !== "" && phase === "queued") return 0;
  const at = { reference, row: run, phase };
  if (isAt(at, "preparing", "planning", "planned")) {
    const { cancel } = run.message;
    if (cancel !== undefined) {
      await move(tx, at, "canceled", SWEEP_ACTOR, { reason: `canceled by ${cancel.actor}` });
      await leaveQueue(tx, reference);
      return 1;
    }
    // Without a ticket no worker has the run: it is planned again.
    await move(tx, at, "queued", SWEEP_ACTOR, {
      planDigest: "",
      approvals: [],
      reason: "the ticket of the run was lost",
    });
  } else tx.guardRow(run);
  tx.create(SERVER_KINDS.ticket, ticketPlace(reference), freeTicket(run.message, step, tx.nowMs));
  return 1;
}

const STEP_OF: Readonly<Partial<Record<ReturnType<typeof phaseOf>, RunTicket_Step>>> = {
  queued: RunTicket_Step.STEP_PLAN,
  preparing: RunTicket_Step.STEP_PLAN,
  planning: RunTicket_Step.STEP_PLAN,
  planned: RunTicket_Step.STEP_PLAN,
  approved: RunTicket_Step.STEP_APPLY,
  applying: RunTicket_Step.STEP_RECOVER,
};
