import {
  hasRole,
  isAccountAdmin,
  nameOfRole,
  type Principal,
  type Role,
} from "@stackwright/registry";
import { ServerError } from "../domain/server-error.ts";

/** What callers of the API may do, lowest first, by the roles that credentials have. */
const API_ROLES = Object.freeze({
  /** Reads. */
  viewer: "reader",
  /** Uploads configurations and requests plans that nothing can apply. */
  planner: "planner",
  /** Makes, approves, cancels runs; writes variables. */
  operator: "deployer",
  /** Publishes and withdraws modules. */
  publisher: "publisher",
  /** Makes stacks, and ends runs at once. */
  admin: "admin",
  /** Claims steps of runs, and executes them elsewhere. */
  worker: "worker",
} satisfies Record<string, Role>);

/** Beside the roles: those who administer the server, or the account rather than projects of it, and all who are authenticated. */
export type ApiRole = keyof typeof API_ROLES | "site-admin" | "account-admin" | "self";

/** Whether a caller has a role, or one that includes it. */
export function hasApiRole(principal: Principal, role: keyof typeof API_ROLES): boolean {
  return hasRole(principal, API_ROLES[role]);
}

/** Whether a caller administers all accounts of the server. */
export function isSiteAdmin(principal: Principal): boolean {
  return isAccountAdmin(principal) && hasRole(principal, "operator");
}

/** `forbidden` for a caller without the role. */
export function requireApiRole(principal: Principal, needed: ApiRole): void {
  if (needed === "self") return;
  if (needed === "account-admin") {
    if (isAccountAdmin(principal)) return;
    throw new ServerError(
      "forbidden",
      `${principal.actor} is not allowed to do this; it needs the role admin of the account`,
    );
  }
  if (needed === "site-admin") {
    if (isSiteAdmin(principal)) return;
    throw new ServerError(
      "forbidden",
      `${principal.actor} is not allowed to do this; it needs the role site-admin`,
    );
  }
  const role = API_ROLES[needed];
  if (hasApiRole(principal, needed)) return;
  throw new ServerError(
    "forbidden",
    `${principal.actor} is not allowed to do this; it needs the role ${roleOf(needed, nameOfRole(role))}`,
  );
}

/** A role as users have it, and as tokens of machines do where that is another name. */
function roleOf(needed: string, ofTokens: string): string {
  return needed === ofTokens ? needed : `${needed} (${ofTokens})`;
}

/** What a caller of an operation needs, in words. */
export function describeAccess(needed: ApiRole | "run"): string {
  if (needed === "run") return "the token of a claim";
  if (needed === "self") return "any credential";
  if (needed === "account-admin") return "the role admin of the account";
  if (needed === "site-admin") return "the role site-admin";
  return `the role ${roleOf(needed, nameOfRole(API_ROLES[needed]))}`;
}
