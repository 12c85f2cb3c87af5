import type { ListedTicket } from "./choose-ticket.ts";

/** What has a fair share of the workers: a project, in one pool. */
export function shareOf({ id: { tenancy }, ticket: { pool } }: ListedTicket): string {
  return `${tenancy.partition}/${tenancy.namespace} ${pool}`;
}
