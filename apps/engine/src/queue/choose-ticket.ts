import { RunTicket } from "@stackwright/proto/stackwright";
import type { ResourceId } from "@stackwright/storage";
import { shareOf } from "./project-share.ts";
import { isExecutable } from "./run-protocol.ts";
import { CLASS_OF_PLANS, classOfTicket } from "./ticket-class.ts";

/** A ticket as it was listed. */
export interface ListedTicket {
  readonly id: ResourceId;
  readonly ticket: RunTicket;
}

/** How long a ticket waits, and its project, before it counts as one class higher. */
const PROMOTED_MS = 600_000;

/** When projects were given steps. */
export interface ServedSteps {
  /** How many milliseconds ago the project of a ticket was given a step. */
  ago(ticket: ListedTicket): number;
  /** The same of steps of the class of the ticket. */
  agoOfClass(ticket: ListedTicket): number;
}

const NEVER_SERVED: ServedSteps = {
  ago: () => Number.POSITIVE_INFINITY,
  agoOfClass: () => Number.POSITIVE_INFINITY,
};

/** The place of a ticket among all: compared from the first to the last, then by run. */
interface TicketPlace {
  readonly listed: ListedTicket;
  readonly rank: number;
  /** Steps that its project has. */
  readonly claimed: number;
  readonly servedAgo: number;
  /** When the oldest ticket of its project was made. */
  readonly oldest: number;
}

/**
 * The free tickets of a pool that this release can execute, in the order in which a worker tries them: recoveries, applies, plans, speculative plans, plans of
 * schedules; within a class projects with fewer claimed tickets first, then those that were given a step longer ago, then those whose oldest ticket is
 * older, then by run. A pure function of what it is given.
 *
 * Of speculative plans and those of schedules, one that has waited for ten minutes counts one class higher while its project was given none of its class for as
 * long. If its age were enough, all of a project with thousands of them would pass what others have; nor do plans pass applies, whatever their age.
 *
 * @param pool empty for the default one
 * @param served @default no project was given anything
 */
export function orderTickets(
  all: readonly ListedTicket[],
  nowMs: number,
  pool = "",
  served = NEVER_SERVED,
): ListedTicket[] {
  const shares = new Map<string, { claimed: number; readonly free: ListedTicket[] }>();
  for (const listed of all) {
    if (listed.ticket.pool !== pool) continue;
    const name = shareOf(listed);
    const share = shares.get(name) ?? { claimed: 0, free: [] };
    shares.set(name, share);
    if (listed.ticket.claim !== undefined) share.claimed += 1;
    else if (isExecutable(listed.ticket)) share.free.push(listed);
  }
  return [...shares.values()]
    .flatMap(({ claimed, free }) => placesOf(free, claimed, nowMs, served))
    .toSorted(
      (a, b) =>
        a.rank - b.rank ||
        a.claimed - b.claimed ||
        longerAgo(a.servedAgo, b.servedAgo) ||
        a.oldest - b.oldest ||
        byRun(a.listed, b.listed),
    )
    .map(({ listed }) => listed);
}

/** The same tickets, of which a worker has one more. */
export function withClaim(
  all: readonly ListedTicket[],
  taken: ListedTicket,
): readonly ListedTicket[] {
  const ticket = RunTicket.create({ ...taken.ticket, claim: {} });
  return all.map((one) => (one === taken ? { ...one, ticket } : one));
}

/** The places of the free tickets of one project. */
function placesOf(
  free: readonly ListedTicket[],
  claimed: number,
  nowMs: number,
  served: ServedSteps,
): readonly TicketPlace[] {
  const [first] = free;
  if (first === undefined) return [];
  const servedAgo = served.ago(first);
  const oldest = free.reduce(
    (least, { ticket }) => Math.min(least, Number(ticket.createdAtMs)),
    Number.POSITIVE_INFINITY,
  );
  return free.map((listed): TicketPlace => {
    const { ticket } = listed;
    const own = classOfTicket(ticket);
    const isStarved =
      own > CLASS_OF_PLANS &&
      nowMs - Number(ticket.createdAtMs) >= PROMOTED_MS &&
      served.agoOfClass(listed) >= PROMOTED_MS;
    return { listed, rank: isStarved ? own - 1 : own, claimed, servedAgo, oldest };
  });
}

function longerAgo(a: number, b: number): number {
  return a === b ? 0 : b - a;
}

function byRun({ ticket: a }: ListedTicket, { ticket: b }: ListedTicket): number {
  return a.run < b.run ? -1 : a.run > b.run ? 1 : 0;
}

/** How many plans of schedules a worker executes at the same time: half of its steps. */
export function backgroundCapacity(capacity: number): number {
  return Math.max(1, Math.floor(capacity / 2));
}

/** A ticket whose execution was lost is not tried again at once by the same worker: after so long, then twice as long, and so on. */
export const RETRY_MS = 1_000;
export const MAX_RETRY_MS = 60_000;

/** How long a ticket waits after so many claims without a result. */
export function retryMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(attempts - 1, 16));
}
