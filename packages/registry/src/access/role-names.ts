import { isRole, type Role } from "./principal.ts";

// In credentials the roles of the registry have its name before them, as projects have roles too, and the
// `operator` of all accounts is the admin of the site. Credentials of earlier releases have the bare names.

const SITE_ADMIN = "site-admin";
const PREFIX = "registry:";

/** What a role is called in a credential. */
export function nameOfRole(role: Role): string {
  if (role === "operator") return SITE_ADMIN;
  return role === "worker" || role === "planner" ? role : PREFIX + role;
}

/** The role of a name, also of an earlier release; undefined for names that are none. */
export function roleNamed(name: string): Role | undefined {
  if (name === SITE_ADMIN) return "operator";
  const bare = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  if (!isRole(bare)) return undefined;
  // These never existed under a prefix.
  return bare !== name && nameOfRole(bare) !== name ? undefined : bare;
}

/** The known ones of the roles in a credential. */
export function rolesNamed(names: readonly string[]): readonly Role[] {
  return names.flatMap((name) => roleNamed(name) ?? []);
}
