import { type ResourceObject, related } from "../json-api/document.ts";
import type { TfeVariableSet } from "../port/variable-set-port.ts";
import { workspaceId } from "../workspace-id.ts";
import { projectId } from "./organization-routes.ts";
import { setIdOf, variableIdOf } from "./variable-resource.ts";

/** A variable set with the ids of what it has and is attached to. */
export function variableSetResource(account: string, set: TfeVariableSet): ResourceObject {
  const { name, project, description, isGlobal, hasPriority, updatedAtMs } = set;
  const { variables, workspaces, projects } = set;
  const id = setIdOf(account, set);
  const many = (type: string, ids: readonly string[]) => ({
    data: ids.map((each) => ({ id: each, type })),
  });
  return {
    id,
    type: "varsets",
    attributes: {
      name,
      description,
      global: isGlobal,
      priority: hasPriority,
      "updated-at": new Date(updatedAtMs).toISOString(),
      "var-count": variables.length,
      "workspace-count": workspaces.length,
      "project-count": projects.length,
    },
    relationships: {
      organization: related("organizations", account),
      parent:
        project === undefined
          ? related("organizations", account)
          : related("projects", projectId(project)),
      vars: many(
        "vars",
        variables.map((each) => variableIdOf(id, each)),
      ),
      workspaces: many("workspaces", workspaces.map(workspaceId)),
      projects: many("projects", projects.map(projectId)),
    },
  };
}
