import { hasRole, type Principal, type Role } from "./principal.ts";

/** What a principal may do of what another one may do now; undefined where that is nothing. */
export function limitedTo<T extends Principal>(limit: Principal, principal: T): T | undefined {
  if (limit.account !== principal.account) return undefined;
  const roles: readonly Role[] = [
    ...new Set([
      ...principal.roles.filter((role) => hasRole(limit, role)),
      ...limit.roles.filter((role) => hasRole(principal, role)),
    ]),
  ];
  if (roles.length === 0) return undefined;
  // No projects stand for all of them.
  if (limit.projects.length === 0) return { ...principal, roles };
  const projects =
    principal.projects.length === 0
      ? limit.projects
      : principal.projects.filter((project) => limit.projects.includes(project));
  return projects.length === 0 ? undefined : { ...principal, roles, projects };
}
