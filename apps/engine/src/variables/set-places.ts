import type { AccountVariableSet } from "@stackwright/proto/stackwright";
import { NO_STACK } from "../domain/stack-pattern.ts";

// What a set is attached to, one by one: stacks, and projects with all of their stacks. It is stored as patterns without wildcards, so that the
// server's own routes, its precedence and its views have one rule. Sets whose patterns say more cannot be told in this way.

/** What a set is for, as it is stored. A set of a project has no list of projects. */
type StoredPlaces = Pick<AccountVariableSet, "projects" | "stacks">;

/** A stack of a project, or all stacks of it. */
export interface SetPlace {
  readonly project: string;
  /** Undefined: all. */
  readonly stack: string | undefined;
}

const ALL = "*";

/** Whether a set is for all stacks. */
export function isForAll({ projects, stacks }: StoredPlaces): boolean {
  return projects.length === 0 && stacks.length === 0;
}

/** Whether a pattern of stacks is for all of a project that it is for. */
export function isWholePattern(pattern: string): boolean {
  return pattern === ALL || pattern.endsWith(`/${ALL}`);
}

/** Whether a pattern is for some stacks, by their names. */
export function isSinglePattern(pattern: string): boolean {
  return pattern !== NO_STACK && !isWholePattern(pattern);
}

/** What a set of an account is attached to; undefined where it is for all stacks, or its patterns say more. */
export function accountPlaces({ projects, stacks }: StoredPlaces): readonly SetPlace[] | undefined {
  const names = stacks.filter((one) => one !== NO_STACK);
  if (projects.length > 0) {
    if (stacks.length > 0 || projects.some(hasWildcard)) return undefined;
    return projects.map((project) => ({ project, stack: undefined }));
  }
  if (stacks.length === 0) return undefined;
  const places = names.map(placeOf);
  return places.every((one) => one !== undefined) ? places : undefined;
}

/** The same of a set of a project; one for all of its stacks is attached to the project. */
export function projectPlaces(
  project: string,
  { stacks }: Pick<StoredPlaces, "stacks">,
): readonly SetPlace[] | undefined {
  if (stacks.length === 0) return [{ project, stack: undefined }];
  const names = stacks.filter((one) => one !== NO_STACK);
  if (names.some((name) => name !== ALL && hasWildcard(name))) return undefined;
  return names.map((name) => ({ project, stack: name === ALL ? undefined : name }));
}

/** How a set of an account is stored that is attached to places alone. */
export function storedAccountPlaces(places: readonly SetPlace[]): StoredPlaces {
  const stacks = places.map(({ project, stack = ALL }) => `${project}/${stack}`);
  return { projects: [], stacks: orNone(stacks) };
}

/** The same of a set of a project. */
export function storedProjectPlaces(
  places: readonly SetPlace[],
): Pick<AccountVariableSet, "stacks"> {
  const stacks = places.map(({ stack = ALL }) => stack);
  return { stacks: stacks.length === 1 && stacks[0] === ALL ? [] : orNone(stacks) };
}

/** Places with others, each once. */
export function withPlaces(
  places: readonly SetPlace[],
  added: readonly SetPlace[],
): readonly SetPlace[] {
  return [...places, ...added.filter((one) => !hasPlace(places, one))];
}

export function withoutPlaces(
  places: readonly SetPlace[],
  removed: readonly SetPlace[],
): readonly SetPlace[] {
  return places.filter((one) => !hasPlace(removed, one));
}

/** An empty list would be for all. */
function orNone(stacks: readonly string[]): string[] {
  return stacks.length === 0 ? [NO_STACK] : [...stacks];
}

function hasPlace(places: readonly SetPlace[], { project, stack }: SetPlace): boolean {
  return places.some((one) => one.project === project && one.stack === stack);
}

function placeOf(pattern: string): SetPlace | undefined {
  const [project = "", stack] = pattern.split("/");
  if (stack === undefined || hasWildcard(project)) return undefined;
  if (stack === ALL) return { project, stack: undefined };
  return hasWildcard(stack) ? undefined : { project, stack };
}

function hasWildcard(pattern: string): boolean {
  return pattern.includes("*");
}
