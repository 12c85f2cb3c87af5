import type { Variable, VariableSet } from "@stackwright/proto/stackwright";
import { matchesStack } from "./stack-pattern.ts";

/** A value of a stack, with what it is from. */
export interface OwnedVariable {
  readonly variable: Variable;
  /** Name of the set; undefined for a variable of the stack itself. */
  readonly set: string | undefined;
  /** Names of the sets whose values it hides, the strongest first; `undefined` among them is the stack itself. */
  readonly hides: readonly (string | undefined)[];
}

/**
 * What a stack has of its own variables and the sets of its project. The strongest first: sets with priority for some stacks,
 * sets with priority for all, the stack, sets for some stacks, sets for all. Of two sets of one level the first by name wins.
 * The result is ordered by category and key.
 */
export function effectiveVariables(
  stackName: string | undefined,
  own: readonly Variable[],
  sets: readonly VariableSet[],
): readonly OwnedVariable[] {
  const layers = [
    ...sets
      .filter((set) => appliesTo(set, stackName))
      .map((set) => ({ set: set.name, variables: set.variables, level: levelOf(set) })),
    { set: undefined, variables: own, level: STACK_LEVEL },
  ].toSorted((a, b) => a.level - b.level || ((a.set ?? "") < (b.set ?? "") ? -1 : 1));
  const found = new Map<string, OwnedVariable>();
  for (const { set, variables } of layers) {
    for (const variable of variables) {
      const place = `${variable.category} ${variable.key}`;
      const stronger = found.get(place);
      found.set(
        place,
        stronger === undefined
          ? { variable, set, hides: [] }
          : { ...stronger, hides: [...stronger.hides, set] },
      );
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Whether a set is for a stack: for all, or by a pattern of its name. A stack that lost its name has the sets for all. */
function appliesTo({ stacks }: VariableSet, stackName: string | undefined): boolean {
  if (stacks.length === 0) return true;
  return stackName !== undefined && stacks.some((pattern) => matchesStack(pattern, stackName));
}

const STACK_LEVEL = 2;

function levelOf({ priority, stacks }: VariableSet): number {
  const isForAll = stacks.length === 0;
  if (priority) return isForAll ? 1 : 0;
  return isForAll ? 4 : 3;
}
