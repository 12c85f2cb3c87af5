import type { Principal } from "@stackwright/registry";

/** What the names of the leases of a credential's workers begin with, behind that of all workers: none can have the lease of another. */
export function workerPrefix({
  actor,
  credential = actor,
}: Pick<Principal, "actor" | "credential">): string {
  return `${credential.replaceAll(/[^0-9A-Za-z-]/g, "_")}.`;
}
