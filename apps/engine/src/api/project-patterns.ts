import type { Principal } from "@stackwright/registry";
import { matchesStack } from "../domain/stack-pattern.ts";

/** What an account has for the projects that patterns name: none are for all. */
interface ForProjects {
  readonly projects: readonly string[];
}

/** Whether something is for a project that a caller sees. */
export function isShownTo(principal: Principal, { projects }: ForProjects): boolean {
  return projects.length === 0 || projects.some((one) => isShownPattern(principal, one));
}

/** The same with the patterns of those projects alone that a caller sees: names of others are not its business. */
export function shownTo<T extends ForProjects & { projects: string[] }>(
  principal: Principal,
  one: T,
): T {
  return { ...one, projects: one.projects.filter((name) => isShownPattern(principal, name)) };
}

/** The projects that a caller sees; undefined for one that sees all of the account. */
export function projectsOf({
  projects: own,
  roles,
  projectRoles,
}: Principal): readonly string[] | undefined {
  if (own.length > 0) return own;
  return roles.length > 0 ? undefined : [...(projectRoles?.keys() ?? [])];
}

function isShownPattern(principal: Principal, pattern: string): boolean {
  return projectsOf(principal)?.some((name) => matchesStack(pattern, name)) ?? true;
}
