import type { RoleBinding, Team, User } from "@stackwright/proto/stackwright";
import { hasRole, type Principal, type Role } from "@stackwright/registry";
import { type BindingPlace, issuerText } from "./access-places.ts";

/** The roles that users and teams can be given, the lowest first, by what credentials call them. */
export const USER_ROLES = Object.freeze({
  viewer: "reader",
  planner: "planner",
  operator: "deployer",
  publisher: "publisher",
  admin: "admin",
} satisfies Record<string, Role>);

export type UserRole = keyof typeof USER_ROLES;

export function isUserRole(text: string): text is UserRole {
  return Object.hasOwn(USER_ROLES, text);
}

/** What of an account cannot be read. */
interface DamagedAccess {
  /** To whom roles may be given whose records are damaged. */
  readonly bindings: readonly Pick<BindingPlace, "kind" | "subject">[];
  /** The names of teams whose records are damaged. */
  readonly teams: readonly string[];
}

/** Who has which role in an account. */
export interface AccessFacts {
  readonly users: ReadonlyMap<string, User>;
  readonly teams: readonly Team[];
  readonly bindings: readonly RoleBinding[];
  /** The issuer whose groups those of a team are that names none: the only one of the account. @default none */
  readonly onlyIssuer?: string | undefined;
  /** What is missing here, as it cannot be read. @default nothing */
  readonly damaged?: DamagedAccess | undefined;
}

/** What a user may do, in the form that all guards ask. */
type Rights = Pick<Principal, "roles" | "projects" | "projectRoles">;

/**
 * Whether a user is in a team: by its name, or by a group that its identity provider put it in. A group of another provider is another
 * group, whatever it is called.
 */
export function isMember(
  { members, groups, issuer }: Team,
  user: User,
  onlyIssuer?: string,
): boolean {
  if (members.includes(user.name)) return true;
  const isOfIssuer =
    user.issuer !== "" && issuerText(user.issuer) === (issuer === "" ? onlyIssuer : issuer);
  return isOfIssuer && groups.some((group) => user.groups.includes(group));
}

/**
 * What the bindings of a user and its teams allow. A user with roles in single projects alone sees these, and has beside them, for what
 * belongs to no project, the lowest of its roles; never more than a deployer has, as an admin of a project is none of the account. What
 * cannot be read gives nothing; and as it may be the lowest role, a user whom it may concern has none for what belongs to no project.
 */
export function rightsOfUser(facts: AccessFacts, user: User): Rights {
  const { teams, bindings, onlyIssuer } = facts;
  const isOwn = (team: Team): boolean => isMember(team, user, onlyIssuer);
  const own = new Set(teams.filter(isOwn).map(({ name }) => name));
  const inAccount = new Set<Role>();
  const inProjects = new Map<string, Set<Role>>();
  for (const { subjectKind, subject, project, role } of bindings) {
    const isGiven = subjectKind === "user" ? subject === user.name : own.has(subject);
    if (!isGiven || !isUserRole(role)) continue;
    const roles = project === "" ? inAccount : (inProjects.get(project) ?? new Set());
    roles.add(USER_ROLES[role]);
    if (project !== "") inProjects.set(project, roles);
  }
  const projectRoles = new Map([...inProjects].map(([name, roles]) => [name, [...roles]]));
  const known = projectRoles.size > 0 ? { projectRoles } : {};
  if (inAccount.size > 0) return { roles: [...inAccount], projects: [], ...known };
  if (projectRoles.size === 0) return { roles: [], projects: [] };
  return {
    roles: mayLack(facts, user.name, own) ? [] : lowestOf([...projectRoles.values()]),
    projects: [...projectRoles.keys()],
    ...known,
  };
}

/** Whether roles of a user may be missing, as they cannot be read. */
function mayLack(
  { bindings, damaged }: AccessFacts,
  user: string,
  own: ReadonlySet<string>,
): boolean {
  if (damaged === undefined) return false;
  // Who is in it is not known: each user may be.
  const teams = new Set(damaged.teams);
  const isMeant = (kind: string, subject: string): boolean =>
    kind === "user" ? subject === user : own.has(subject) || teams.has(subject);
  return (
    damaged.bindings.some(({ kind, subject }) => isMeant(kind, subject)) ||
    bindings.some(({ subjectKind, subject }) => subjectKind === "team" && teams.has(subject))
  );
}

function lowestOf(all: readonly (readonly Role[])[]): readonly Role[] {
  const everywhere = (role: Role): boolean =>
    all.every((roles) => hasRole({ ...WITHOUT_ROLES, roles }, role));
  const found = (["deployer", "planner", "reader"] as const).find(everywhere);
  return found === undefined ? [] : [found];
}

const WITHOUT_ROLES: Principal = Object.freeze({ account: "", actor: "", roles: [], projects: [] });
