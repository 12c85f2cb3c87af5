import { type RunTicket, RunTicket_Class, RunTicket_Step } from "@stackwright/proto/stackwright";
import type { ResourceId } from "@stackwright/storage";
import { isExecutable } from "./run-protocol.ts";

/** A ticket as it was listed. */
export interface ListedTicket {
  readonly id: ResourceId;
  readonly ticket: RunTicket;
}

/** How long a ticket waits before it counts as one class higher. */
const PROMOTED_MS = 600_000;

/**
 * The free tickets of a pool that this release can execute, in the order in which a worker tries them: recoveries, applies, plans, speculative plans, plans of
 * schedules; within a class projects with fewer claimed tickets first, then those whose oldest ticket is older, then by run. A pure
 * function of the list, so that every worker answers "why does it wait" alike.
 *
 * @param pool empty for the default one
 */
export function orderTickets(
  all: readonly ListedTicket[],
  nowMs: number,
  pool = "",
): ListedTicket[] {
  const tickets = all.filter(({ ticket }) => ticket.pool === pool);
  const claimed = new Map<string, number>();
  const oldest = new Map<string, number>();
  for (const { id, ticket } of tickets) {
    const project = projectOf(id);
    if (ticket.claim !== undefined) claimed.set(project, (claimed.get(project) ?? 0) + 1);
    else {
      const age = Number(ticket.createdAtMs);
      oldest.set(project, Math.min(oldest.get(project) ?? age, age));
    }
  }
  const rank = ({ ticket }: ListedTicket): number =>
    classOf(ticket) - (nowMs - Number(ticket.createdAtMs) >= PROMOTED_MS ? 1 : 0);
  return tickets
    .filter(({ ticket }) => ticket.claim === undefined && isExecutable(ticket))
    .toSorted((a, b) => {
      const [left, right] = [projectOf(a.id), projectOf(b.id)];
      return (
        rank(a) - rank(b) ||
        (claimed.get(left) ?? 0) - (claimed.get(right) ?? 0) ||
        (oldest.get(left) ?? 0) - (oldest.get(right) ?? 0) ||
        (a.ticket.run < b.ticket.run ? -1 : 1)
      );
    });
}

/** How many plans of schedules a worker executes at the same time: half of its steps. */
export function backgroundCapacity(capacity: number): number {
  return Math.max(1, Math.floor(capacity / 2));
}

function classOf({ step, class: ticketClass, background }: RunTicket): number {
  if (background) return 4;
  if (step === RunTicket_Step.STEP_RECOVER) return 0;
  if (step === RunTicket_Step.STEP_APPLY) return 1;
  return ticketClass === RunTicket_Class.CLASS_SPECULATIVE ? 3 : 2;
}

function projectOf({ tenancy }: ResourceId): string {
  return `${tenancy.partition}/${tenancy.namespace}`;
}

/** A ticket whose execution was lost is not tried again at once by the same worker: after so long, then twice as long, and so on. */
export const RETRY_MS = 1_000;
export const MAX_RETRY_MS = 60_000;

/** How long a ticket waits after so many claims without a result. */
export function retryMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(attempts - 1, 16));
}
