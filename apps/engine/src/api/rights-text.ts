import type { Principal } from "@stackwright/registry";

/** What a caller may do, in a form that is the same for the same rights. */
export function rightsText({ roles, projects, stacks = [], projectRoles }: Principal): string {
  const inProjects = [...(projectRoles ?? [])].map(([name, some]) =>
    [name, ...some.toSorted()].join(" "),
  );
  return JSON.stringify([roles, projects, stacks, inProjects].map((all) => all.toSorted()));
}
