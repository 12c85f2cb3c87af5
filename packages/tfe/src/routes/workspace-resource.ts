import { type ResourceObject, related } from "../json-api/document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { TfeWorkspace } from "../port/workspace-port.ts";
import { workspaceId } from "../workspace-id.ts";
import { projectId } from "./organization-routes.ts";

/**
 * A workspace as commands read it. They use `permissions` and `actions` without a check, so that both are always complete.
 *
 * @param structured whether the command gets logs of lines that it renders, and renders plans from their documents
 */
export function workspaceResource(
  { account, isOperator, isAdmin }: TfeCaller,
  workspace: TfeWorkspace,
  { structured }: { readonly structured: boolean },
): ResourceObject {
  const { id, name, project, executionMode, lock, tags, currentRun } = workspace;
  return {
    id: workspaceId(id),
    type: "workspaces",
    attributes: {
      name,
      description: workspace.description,
      "execution-mode": executionMode,
      operations: executionMode === "remote",
      locked: lock !== undefined,
      "auto-apply": workspace.autoApply,
      // Any other value makes commands compare it with their version.
      "terraform-version":
        workspace.terraformVersion === "" ? "latest" : workspace.terraformVersion,
      "working-directory": workspace.workingDirectory,
      "structured-run-output-enabled": structured,
      // A tag without a value has to be here and among the bindings, or commands write it again each time.
      "tag-names": tags.filter(({ value }) => value === "").map(({ key }) => key),
      "created-at": new Date(workspace.createdAtMs).toISOString(),
      actions: { "is-destroyable": true },
      "vcs-repo": null,
      permissions: {
        "can-update": isOperator,
        "can-destroy": isAdmin,
        "can-queue-run": isOperator,
        "can-queue-apply": isOperator,
        "can-queue-destroy": isOperator,
        "can-lock": isOperator,
        "can-unlock": isOperator,
        "can-force-unlock": isOperator,
        "can-read-settings": true,
        "can-update-variable": isOperator,
        "can-manage-run-tasks": false,
        // Present where a delete without force is possible.
        "can-force-delete": isAdmin,
      },
    },
    relationships: {
      organization: related("organizations", account),
      project: related("projects", projectId(project)),
      // Commands count the runs in front of their own up to this one, and none where it is their own.
      "current-run": related("runs", currentRun && `run-${id}-${currentRun}`),
      "locked-by": lock === undefined ? { data: null } : related("users", lock.actor),
    },
  };
}
