import type { AccountVariableSet } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { matchesPlace } from "../../domain/stack-pattern.ts";
import { isSetForProject } from "../../domain/variable-precedence.ts";
import { isShownTo, projectsOf, shownTo } from "../project-patterns.ts";
import type { SeenStacks } from "./seen-stacks.ts";

/**
 * Those of the sets of an account that are for what a caller sees, with the patterns alone that match a project or a stack of these: names of
 * others are not its business.
 */
export async function shownAccountSets(
  stacks: SeenStacks,
  principal: Principal,
  sets: readonly AccountVariableSet[],
): Promise<readonly AccountVariableSet[]> {
  const found = sets.filter((set) => isShownTo(principal, set));
  const projects = projectsOf(principal);
  if (projects === undefined) return found;
  const inProjects = found.map((set) => shownTo(principal, set));
  if (inProjects.every((set) => set.stacks.length === 0)) return inProjects;
  const names = await stacks.of(projects);
  return inProjects.flatMap((set) => {
    if (set.stacks.length === 0) return [set];
    const own = projects
      .filter((project) => isSetForProject(set, project))
      .flatMap((project) => (names.get(project) ?? []).map((name) => ({ project, name })));
    const shown = set.stacks.filter((pattern) => own.some((one) => matchesPlace(pattern, one)));
    return shown.length === 0 ? [] : [{ ...set, stacks: shown }];
  });
}
