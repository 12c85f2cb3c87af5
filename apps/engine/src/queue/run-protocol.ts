import type { RunTicket } from "@stackwright/proto/stackwright";

/**
 * Version of what a server knows of the runs that it executes. It is another one wherever a run can say something that a server which
 * does not know it would execute otherwise: an option, say, that leaves a resource out. Servers of several releases share a store while they
 * are exchanged.
 */
export const RUN_PROTOCOL = 1;

/** Whether a server of this release can execute a step; it is left to servers of a newer one otherwise. */
export function isExecutable({ protocol }: Pick<RunTicket, "protocol">): boolean {
  return protocol <= RUN_PROTOCOL;
}
