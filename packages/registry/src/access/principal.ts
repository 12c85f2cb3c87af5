import { RegistryError } from "../errors.ts";

/**
 * What a credential may do. `reader` lists, shows and installs; `planner` also requests plans that nothing can apply; `deployer` also
 * approves and applies, and records and releases uses of versions;
 * `publisher` also creates, changes and deletes providers and versions; `admin` also manages keys, tokens and namespaces of its account and
 * reads its audit trail; `operator` does so for all accounts; `worker` uses the storage service.
 */
export const ROLES = Object.freeze([
  "reader",
  "planner",
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
  planner: ["reader"],
  deployer: ["planner", "reader"],
  publisher: ["deployer", "planner", "reader"],
  admin: ["publisher", "deployer", "planner", "reader"],
  operator: ["admin", "publisher", "deployer", "planner", "reader"],
  worker: [],
};

/** An authenticated caller. */
export interface Principal {
  readonly account: string;
  /** Access key, id of the token, or the user: for the audit trail, never a secret. */
  readonly actor: string;
  /** In all of its projects, and in the account where it has no list of projects. */
  readonly roles: readonly Role[];
  /** Projects that a request may select; empty means all of the account. */
  readonly projects: readonly string[];
  /** Further roles in single projects. @default none */
  readonly projectRoles?: ReadonlyMap<string, readonly Role[]> | undefined;
  /** Stacks that it is limited to, as PROJECT/STACK. @default all of its projects */
  readonly stacks?: readonly string[] | undefined;
  /** The user or service account that it acts for. */
  readonly user?: string | undefined;
  /** Id of the token or of the login session, where the actor is a user. */
  readonly credential?: string | undefined;
  /** Id of the token that its credential was made with, and ends with. @default none */
  readonly parent?: string | undefined;
  /** The pool whose steps its workers execute. @default that of the servers */
  readonly pool?: string | undefined;
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

export function hasRole(principal: Principal, role: Role): boolean {
  return principal.roles.some((own) => own === role || INCLUDED[own].includes(role));
}

/** A caller with the roles that it has in one project; undefined where it has none there. */
export function principalIn(principal: Principal, project: string): Principal | undefined {
  const { projects, roles, projectRoles } = principal;
  if (projects.length > 0 && !projects.includes(project)) return undefined;
  const own = projectRoles?.get(project) ?? [];
  if (roles.length + own.length === 0) return undefined;
  return own.length === 0 ? principal : { ...principal, roles: [...new Set([...roles, ...own])] };
}

/** Whether a caller administers its account, rather than some projects of it. */
export function isAccountAdmin(principal: Principal): boolean {
  const { projects, stacks = [] } = principal;
  return projects.length === 0 && stacks.length === 0 && hasRole(principal, "admin");
}

/** What is changed with these belongs to no stack and to no project. */
const BEYOND_PROJECTS: ReadonlySet<Role> = new Set(["publisher", "admin", "operator"]);

/**
 * Throws `REGISTRY_FORBIDDEN` for those without the role, and for those that are limited to stacks or projects where it is for more
 * than these.
 *
 * @param limits `projects` where what is done stays within the projects of the caller
 */
export function requireRole(principal: Principal, role: Role, limits?: "projects"): void {
  const { stacks = [], projects } = principal;
  if (stacks.length > 0 && BEYOND_PROJECTS.has(role)) {
    throw new RegistryError(
      "REGISTRY_FORBIDDEN",
      `${principal.actor} is limited to the stacks ${stacks.join(", ")}`,
    );
  }
  if (projects.length > 0 && BEYOND_PROJECTS.has(role) && limits === undefined) {
    throw new RegistryError(
      "REGISTRY_FORBIDDEN",
      `${principal.actor} is limited to the projects ${projects.join(", ")}, and this is for all of the account`,
    );
  }
  if (hasRole(principal, role)) return;
  throw new RegistryError(
    "REGISTRY_FORBIDDEN",
    `${principal.actor} has no role that allows this; it needs the role ${role}`,
    { details: { needed: [role] } },
  );
}
