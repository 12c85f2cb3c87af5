import { RegistryError } from "../errors.ts";

/**
 * What a credential may do. `reader` lists, shows and installs; `deployer` also records and releases uses of versions;
 * `publisher` also creates, changes and deletes providers and versions; `admin` also manages keys, tokens and namespaces of its account and
 * reads its audit trail; `operator` does so for all accounts; `worker` uses the storage service.
 */
export const ROLES = Object.freeze([
  "reader",
  "deployer",
  "publisher",
  "admin",
  "operator",
  "worker",
] as const);
export type Role = (typeof ROLES)[number];

/** What a role includes besides itself. */
const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  reader: [],
  deployer: ["reader"],
  publisher: ["deployer", "reader"],
  admin: ["publisher", "deployer", "reader"],
  operator: ["admin", "publisher", "deployer", "reader"],
  worker: [],
};

/** An authenticated caller. */
export interface Principal {
  readonly account: string;
  /** Access key, or id of the token: for the audit trail, never a secret. */
  readonly actor: string;
  readonly roles: readonly Role[];
  /** Projects that a request may select; empty means all of the account. */
  readonly projects: readonly string[];
  /** The pool whose steps its workers execute. @default that of the servers */
  readonly pool?: string | undefined;
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

export function hasRole(principal: Principal, role: Role): boolean {
  return principal.roles.some((own) => own === role || INCLUDED[own].includes(role));
}

/**
 * Throws `REGISTRY_FORBIDDEN` for credentials that may not record or release a use in the name of `user`: uses decide
 * whether a version can be deleted, so a credential with projects covers only the stacks of these.
 */
export function requireUser(principal: Principal, user: string): void {
  requireRole(principal, "deployer");
  const { projects } = principal;
  if (projects.length === 0) return;
  const [, project, stack, ...more] = user.split("/");
  const isStack = project !== undefined && stack !== undefined && more.length === 0;
  if (isStack && projects.includes(project)) return;
  throw new RegistryError(
    "REGISTRY_FORBIDDEN",
    `${principal.actor} is limited to the projects ${projects.join(", ")}; it may record uses as account/project/stack of these`,
    { details: { needed: ["deployer"] } },
  );
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
