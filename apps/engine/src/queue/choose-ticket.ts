import { type RunTicket, RunTicket_Class, RunTicket_Step } from "@stackwright/proto/stackwright";
import type { ResourceId } from "@stackwright/storage";
import { shareOf } from "./project-share.ts";
import { isExecutable } from "./run-protocol.ts";

/** A ticket as it was listed. */
export interface ListedTicket {
  readonly id: ResourceId;
  readonly ticket: RunTicket;
}

/** How long a ticket waits before it counts as one class higher. */
const PROMOTED_MS = 600_000;

/** What is known of a ticket beside its project: how long ago that was given a step, in milliseconds. */
type ServedAgo = (ticket: ListedTicket) => number;

/** The place of a ticket among all: compared from the first to the last. */
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
 * What has waited for ten minutes counts one class higher: before what others have only while its project was given nothing for as
 * long, as all of a project with thousands of plans would pass the plans of others otherwise; in its own project always, but for plans, which pass
 * no applies.
 *
 * @param pool empty for the default one
 * @param servedAgo @default no project was given anything
 */
export function orderTickets(
  all: readonly ListedTicket[],
  nowMs: number,
  pool = "",
  servedAgo: ServedAgo = () => Number.POSITIVE_INFINITY,
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
    .flatMap(({ claimed, free }) => placesOf(free, claimed, nowMs, servedAgo))
    .toSorted(
      (a, b) =>
        a.rank - b.rank ||
        a.claimed - b.claimed ||
        longerAgo(a.servedAgo, b.servedAgo) ||
        a.oldest - b.oldest,
    )
    .map(({ listed }) => listed);
}

/** The places of the free tickets of one project. */
function placesOf(
  free: readonly ListedTicket[],
  claimed: number,
  nowMs: number,
  servedAgo: ServedAgo,
): readonly TicketPlace[] {
  const [first] = free;
  if (first === undefined) return [];
  const ago = servedAgo(first);
  const hasWaited = ({ ticket }: ListedTicket): boolean =>
    nowMs - Number(ticket.createdAtMs) >= PROMOTED_MS;
  const ownRank = (one: ListedTicket): number =>
    classOf(one) - (hasWaited(one) && classOf(one) > CLASS_OF_PLANS ? 1 : 0);
  const ordered = free.toSorted((a, b) => ownRank(a) - ownRank(b) || byRun(a, b));
  const oldest = free.reduce(
    (least, { ticket }) => Math.min(least, Number(ticket.createdAtMs)),
    Number.POSITIVE_INFINITY,
  );
  // A ticket stands for those behind it: when one of them has its turn, the project gives that to the first.
  let rank = Number.POSITIVE_INFINITY;
  return ordered
    .toReversed()
    .map((listed): TicketPlace => {
      const isStarved = ago >= PROMOTED_MS && hasWaited(listed);
      rank = Math.min(rank, classOf(listed) - (isStarved ? 1 : 0));
      return { listed, rank, claimed, servedAgo: ago, oldest };
    })
    .toReversed();
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

const CLASS_OF_PLANS = 2;

function classOf({ ticket: { step, class: ticketClass, background } }: ListedTicket): number {
  if (background) return 4;
  if (step === RunTicket_Step.STEP_RECOVER) return 0;
  if (step === RunTicket_Step.STEP_APPLY) return 1;
  return ticketClass === RunTicket_Class.CLASS_SPECULATIVE ? 3 : CLASS_OF_PLANS;
}

/** A ticket whose execution was lost is not tried again at once by the same worker: after so long, then twice as long, and so on. */
export const RETRY_MS = 1_000;
export const MAX_RETRY_MS = 60_000;

/** How long a ticket waits after so many claims without a result. */
export function retryMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(attempts - 1, 16));
}
