import type { StackReference } from "@stackwright/core";
import { Project, Project_AutoApply } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { DEFAULT_POOL, type Place } from "./run-places.ts";
import { matchesStack } from "./stack-pattern.ts";

/** Where the settings of a project are. */
export function projectPlace({
  account,
  project,
}: Pick<StackReference, "account" | "project">): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name: project };
}

/** The settings of a project that has none: one approval, of any operator. */
export function defaultProject(name: string): Project {
  return Project.create({ name });
}

/** The pool of the workers that execute the runs of a stack; empty for the default one. */
export function poolOf({ pools }: Pick<Project, "pools">, stackName: string): string {
  const found = pools.find(
    ({ stacks }) => stacks.length === 0 || stacks.some((one) => matchesStack(one, stackName)),
  );
  return found === undefined || found.pool === DEFAULT_POOL ? "" : found.pool;
}

/**
 * Whether no run of the project may request that its plan is applied without approval: it says so, or its rule of approvals is
 * stricter than one approval of any operator, which such a request would pass by.
 */
export function requiresApproval(project: Project): boolean {
  const { autoApply, requiredApprovals, excludeAuthor, approvers } = project;
  if (autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS) return false;
  if (autoApply === Project_AutoApply.AUTO_APPLY_NEVER) return true;
  return requiredApprovals > 1 || excludeAuthor || approvers.length > 0;
}
