import { type ResourceObject, related } from "../json-api/document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { TfeRun } from "../port/run-port.ts";
import { workspaceId } from "../workspace-id.ts";
import { runActions, runStatus } from "./run-status.ts";

/** A run as commands read it. */
export function runResource({ isOperator }: TfeCaller, run: TfeRun): ResourceObject {
  return {
    id: `run-${run.workspace}-${run.id}`,
    type: "runs",
    attributes: {
      status: runStatus(run),
      actions: runActions(run),
      "has-changes": run.hasPlan,
      "is-destroy": run.mode === "destroy",
      "refresh-only": run.mode === "refresh-only",
      "plan-only": run.planOnly,
      "save-plan": run.savedPlan,
      "auto-apply": run.autoApply,
      message: run.message,
      source: "tfe-api",
      "created-at": new Date(run.createdAtMs).toISOString(),
      "position-in-queue": 0,
      "status-timestamps": {},
      permissions: {
        "can-apply": isOperator,
        "can-cancel": isOperator,
        "can-discard": isOperator,
        "can-force-cancel": isOperator,
        "can-force-execute": false,
        "can-override-policy-check": run.policyCheck?.canOverride ?? false,
      },
    },
    relationships: {
      plan: related("plans", planId(run)),
      apply: related("applies", applyId(run)),
      workspace: related("workspaces", workspaceId(run.workspace)),
      ...(run.policyCheck !== undefined && {
        "policy-checks": { data: [{ id: policyCheckId(run), type: "policy-checks" }] },
      }),
      ...(run.upload !== undefined && {
        "configuration-version": related(
          "configuration-versions",
          `cv-${run.workspace}-${run.upload}`,
        ),
      }),
    },
  };
}

/** What a plan or an apply of a run does. */
export function countsOf({ counts }: TfeRun): Readonly<Record<string, number>> {
  return {
    "resource-additions": counts.additions,
    "resource-changes": counts.changes,
    "resource-destructions": counts.destructions,
    "resource-imports": counts.imports,
  };
}

export function planId({ workspace, id }: TfeRun): string {
  return `plan-${workspace}-${id}`;
}

export function applyId({ workspace, id }: TfeRun): string {
  return `apply-${workspace}-${id}`;
}

export function policyCheckId({ workspace, id }: TfeRun): string {
  return `polchk-${workspace}-${id}`;
}
