import type { AccountVariableSet } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { listResourceHeads, type StorageBackend } from "@stackwright/storage";
import { projectTenancy, STACK_KIND } from "../../domain/run-places.ts";
import { matchesPlace } from "../../domain/stack-pattern.ts";
import { isSetForProject } from "../../domain/variable-precedence.ts";
import { isShownTo, projectsOf, shownTo } from "../project-patterns.ts";

/**
 * Those of the sets of an account that are for what a caller sees, with the patterns alone that match a project or a stack of these: names of
 * others are not its business.
 */
export async function shownAccountSets(
  storage: StorageBackend,
  principal: Principal,
  sets: readonly AccountVariableSet[],
): Promise<readonly AccountVariableSet[]> {
  const found = sets.filter((set) => isShownTo(principal, set));
  const projects = projectsOf(principal);
  if (projects === undefined) return found;
  const inProjects = found.map((set) => shownTo(principal, set));
  if (inProjects.every(({ stacks }) => stacks.length === 0)) return inProjects;
  const names = new Map<string, readonly string[]>();
  for (const project of projects) {
    const tenancy = projectTenancy({ account: principal.account, project });
    const stacks: string[] = [];
    for await (const { id } of listResourceHeads(storage, "strong", STACK_KIND.type, tenancy, "")) {
      stacks.push(id.name);
    }
    names.set(project, stacks);
  }
  return inProjects.flatMap((set) => {
    if (set.stacks.length === 0) return [set];
    const own = projects
      .filter((project) => isSetForProject(set, project))
      .flatMap((project) => (names.get(project) ?? []).map((name) => ({ project, name })));
    const stacks = set.stacks.filter((pattern) => own.some((one) => matchesPlace(pattern, one)));
    return stacks.length === 0 ? [] : [{ ...set, stacks }];
  });
}
