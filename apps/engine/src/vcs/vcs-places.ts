import { createHash } from "node:crypto";
import type { VcsConnection } from "@stackwright/proto/stackwright";
import { type Place, projectTenancy } from "../domain/run-places.ts";

/** Names a connection: its project, and its name there. */
export interface ConnectionReference {
  readonly account: string;
  readonly project: string;
  readonly name: string;
}

/** The key of the task for the branch of a connection. */
export const BRANCH_KEY = "branch";
/** The key of the task that looks for what no delivery reported. */
export const CHECK_KEY = "check";

export function connectionPlace(reference: ConnectionReference): Place {
  return { tenancy: projectTenancy(reference), name: reference.name };
}

/** Where something is of which a connection has one for each key. */
export function keyedPlace(
  reference: Pick<ConnectionReference, "account" | "project">,
  { id }: Pick<VcsConnection, "id">,
  key: string,
): Place {
  return { tenancy: projectTenancy(reference), name: `${id}.${key}` };
}

export function branchPlace(
  reference: Pick<ConnectionReference, "account" | "project">,
  { id }: Pick<VcsConnection, "id">,
): Place {
  return { tenancy: projectTenancy(reference), name: id };
}

/** The key of a pull request: its number, or a digest of what is no number. */
export function pullRequestKey(id: string): string {
  if (/^[0-9]{1,19}$/.test(id)) return `pr-${id}`;
  return `branch-${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
