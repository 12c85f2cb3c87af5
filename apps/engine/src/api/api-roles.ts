import { hasRole, type Principal, type Role } from "@stackwright/registry";
import { ServerError } from "../domain/server-error.ts";

/** What callers of the API may do, lowest first, by the roles that credentials have. */
const API_ROLES = Object.freeze({
  /** Reads. */
  viewer: "reader",
  /** Uploads configurations and makes, approves, cancels runs; writes variables. */
  operator: "deployer",
  /** Makes stacks, and ends runs at once. */
  admin: "admin",
  /** Claims steps of runs, and executes them elsewhere. */
  worker: "worker",
} satisfies Record<string, Role>);

export type ApiRole = keyof typeof API_ROLES;

/** `forbidden` for a caller without the role. */
export function requireApiRole(principal: Principal, needed: ApiRole): void {
  const role = API_ROLES[needed];
  if (hasRole(principal, role)) return;
  throw new ServerError(
    "forbidden",
    `${principal.actor} is not allowed to do this; it needs the role ${role === "worker" ? role : `registry:${role}`}`,
  );
}
