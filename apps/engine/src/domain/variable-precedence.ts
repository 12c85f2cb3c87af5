import type { AccountVariableSet, Variable, VariableSet } from "@stackwright/proto/stackwright";
import { isForProject, matchesPlace, matchesStack } from "./stack-pattern.ts";

/** A set that a value is from. */
export interface SetOrigin {
  readonly set: string;
  /** What the set is of. */
  readonly scope: "project" | "account";
}

/** What a value is from; undefined for a variable of the stack itself. */
export type VariableOrigin = SetOrigin | undefined;

/** A value of a stack, with what it is from. */
export interface OwnedVariable {
  readonly variable: Variable;
  readonly from: VariableOrigin;
  /** Whether it is of a set with priority: what a run was requested with does not replace it either. */
  readonly isEnforced: boolean;
  /** What it hides the values of, the strongest first. */
  readonly hides: readonly VariableOrigin[];
  /** Those of them that are as strong, so that their names alone decide: sets of the same place, with the same priority. */
  readonly equals: readonly SetOrigin[];
}

/** What variables of a stack may be from. */
interface VariableSources {
  readonly own: readonly Variable[];
  readonly sets: readonly VariableSet[];
  readonly accountSets: readonly AccountVariableSet[];
}

interface Layer {
  readonly from: VariableOrigin;
  readonly variables: readonly Variable[];
  readonly level: number;
}

/**
 * What a stack has of its own variables, the sets of its project and those of its account. The strongest first: sets of the account with
 * priority, sets of the project with priority, the stack, sets of the project, sets of the account. Of the sets of one place those that are for the stack by some
 * pattern win over those that are for it as for all, and else the first by name. The result is ordered by category and key.
 */
export function effectiveVariables(
  stack: { readonly project: string; readonly name: string | undefined },
  { own, sets, accountSets }: VariableSources,
): readonly OwnedVariable[] {
  const ofProject = (set: VariableSet): Layer => ({
    from: { set: set.name, scope: "project" },
    variables: set.variables,
    level: levelOf(set, "project", stack),
  });
  const ofAccount = (set: AccountVariableSet): Layer => ({
    from: { set: set.name, scope: "account" },
    variables: set.variables,
    level: levelOf(set, "account", stack),
  });
  const layers = [
    ...sets.filter(({ stacks }) => isForStack(stacks, stack)).map(ofProject),
    ...accountSets.filter((set) => isSetFor(set, stack)).map(ofAccount),
    { from: undefined, variables: own, level: STACK_LEVEL },
  ].toSorted((a, b) => a.level - b.level || ((a.from?.set ?? "") < (b.from?.set ?? "") ? -1 : 1));
  const found = new Map<string, OwnedVariable & { readonly level: number }>();
  for (const { from, variables, level } of layers) {
    for (const variable of variables) {
      const place = `${variable.category} ${variable.key}`;
      const stronger = found.get(place);
      found.set(
        place,
        stronger === undefined
          ? { variable, from, level, isEnforced: level < STACK_LEVEL, hides: [], equals: [] }
          : {
              ...stronger,
              hides: [...stronger.hides, from],
              equals:
                level === stronger.level && from !== undefined
                  ? [...stronger.equals, from]
                  : stronger.equals,
            },
      );
    }
  }
  return [...found]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { level: _level, ...one }]) => one);
}

/** Whether a set of the account is for a stack, by the patterns of both names. */
export function isSetFor(set: SetPatterns, stack: SeenStack): boolean {
  return isInProjects(set, stack.project) && isForStack(set.stacks, stack);
}

/** Whether a set of the account is for stacks of a project, by the patterns of its name. */
export function isSetForProject(set: SetPatterns, project: string): boolean {
  const { stacks } = set;
  if (!isInProjects(set, project)) return false;
  return stacks.length === 0 || stacks.some((pattern) => isForProject(pattern, project));
}

/** What a set of the account is for. */
interface SetPatterns {
  readonly projects: readonly string[];
  readonly stacks: readonly string[];
}

interface SeenStack {
  readonly project: string;
  readonly name: string | undefined;
}

function isInProjects({ projects }: SetPatterns, project: string): boolean {
  return projects.length === 0 || projects.some((pattern) => matchesStack(pattern, project));
}

/** Whether patterns are for a stack: none are for all. A stack that lost its name has the sets for all. */
function isForStack(patterns: readonly string[], { project, name }: SeenStack): boolean {
  if (patterns.length === 0) return true;
  return name !== undefined && patterns.some((pattern) => matchesPlace(pattern, { project, name }));
}

const STACK_LEVEL = 4;

/** 0 to 3 for sets with priority, 5 to 8 for others; a set that is for a stack by nothing but what is for all is weaker than others of its scope. */
function levelOf(
  set: Pick<VariableSet, "priority" | "stacks"> & Partial<Pick<AccountVariableSet, "projects">>,
  scope: SetOrigin["scope"],
  { project, name }: SeenStack,
): number {
  const isNamed = set.stacks.some(
    (pattern) => pattern !== "*" && name !== undefined && matchesPlace(pattern, { project, name }),
  );
  const within = isNamed || (set.projects ?? []).length > 0 ? 0 : 1;
  if (set.priority) return (scope === "account" ? 0 : 2) + within;
  return (scope === "project" ? 5 : 7) + within;
}
