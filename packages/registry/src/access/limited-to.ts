import { hasRole, isAccountAdmin, type Principal, principalIn, type Role } from "./principal.ts";

/** What a principal may do of what another one may do now; undefined where that is nothing. */
export function limitedTo<T extends Principal>(limit: Principal, principal: T): T | undefined {
  if (limit.account !== principal.account) return undefined;
  const roles = sharedRoles(limit, principal, mayGive);
  const projectRoles = sharedProjectRoles(limit, principal);
  if (roles.length === 0 && projectRoles.size === 0) return undefined;
  const limited = {
    ...principal,
    roles,
    projectRoles: projectRoles.size > 0 ? projectRoles : undefined,
  };
  const stacks = shared(limit.stacks ?? [], principal.stacks ?? []);
  const projects = shared(limit.projects, principal.projects);
  if (projects === undefined || stacks === undefined) return undefined;
  return { ...limited, projects, ...(stacks.length > 0 && { stacks }) };
}

/** What is in both lists, of which an empty one stands for everything; undefined where that is nothing. */
function shared(limit: readonly string[], own: readonly string[]): readonly string[] | undefined {
  if (limit.length === 0) return own;
  const both = own.length === 0 ? limit : own.filter((one) => limit.includes(one));
  return both.length === 0 ? undefined : both;
}

function sharedProjectRoles(
  limit: Principal,
  own: Principal,
): ReadonlyMap<string, readonly Role[]> {
  const names = new Set([
    ...(limit.projectRoles?.keys() ?? []),
    ...(own.projectRoles?.keys() ?? []),
  ]);
  return new Map(
    [...names].flatMap((project) => {
      const [a, b] = [principalIn(limit, project), principalIn(own, project)];
      const roles = a === undefined || b === undefined ? [] : sharedRoles(a, b, hasRole);
      return roles.length === 0 ? [] : [[project, roles] as const];
    }),
  );
}

function sharedRoles(
  limit: Principal,
  principal: Principal,
  has: (one: Principal, role: Role) => boolean,
): readonly Role[] {
  return [
    ...new Set([
      ...principal.roles.filter((role) => has(limit, role)),
      ...limit.roles.filter((role) => has(principal, role)),
    ]),
  ];
}

/** Whether a principal has a role, or is one of those who make workers of their account. */
function mayGive(principal: Principal, role: Role): boolean {
  return hasRole(principal, role) || (role === "worker" && isAccountAdmin(principal));
}
