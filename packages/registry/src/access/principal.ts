import { RegistryError } from "../errors.ts";

/**
 * What somebody may do. `reader` lists, shows, installs, and notes what it uses; `publisher` also creates, changes and
 * deletes providers and versions; `admin` also manages keys, tokens and namespaces of its account and
 * reads its audit trail; `operator` does so for all accounts; `worker` uses the storage service.
 */
export const ROLES = Object.freeze(["reader", "publisher", "admin", "operator", "worker"] as const);
export type Role = (typeof ROLES)[number];

/** What a role includes besides itself. */
const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  reader: [],
  publisher: ["reader"],
  admin: ["publisher", "reader"],
  operator: ["admin", "publisher", "reader"],
  worker: [],
};

/** Somebody who was recognised. */
export interface Principal {
  readonly account: string;
  /** Access key, or id of the token: for the audit trail, never a secret. */
  readonly actor: string;
  readonly roles: readonly Role[];
  /** Projects that a request may select; empty means all of the account. */
  readonly projects: readonly string[];
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

export function hasRole(principal: Principal, role: Role): boolean {
  return principal.roles.some((own) => own === role || INCLUDED[own].includes(role));
}

/** Throws `REGISTRY_FORBIDDEN` for those without the role. */
export function requireRole(principal: Principal, role: Role): void {
  if (hasRole(principal, role)) return;
  throw new RegistryError(
    "REGISTRY_FORBIDDEN",
    `${principal.actor} has no role that allows this; it needs the role ${role}`,
    { details: { needed: [role] } },
  );
}
