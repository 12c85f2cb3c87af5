import type { DriftHook } from "@stackwright/proto/stackwright";
import { type Place, projectTenancy } from "../domain/run-places.ts";
import { matchesStack } from "../domain/stack-pattern.ts";

/** Names a hook: its project, and its name there. */
export interface DriftHookReference {
  readonly account: string;
  readonly project: string;
  readonly name: string;
}

/** The form of the name of a hook, which is part of its address. */
export const DRIFT_HOOK_NAME = "^[a-z0-9][a-z0-9-]{0,62}$";

export function driftHookPlace(reference: DriftHookReference): Place {
  return { tenancy: projectTenancy(reference), name: reference.name };
}

/** Whether a hook may ask about a stack. */
export function concernsStack({ stacks }: Pick<DriftHook, "stacks">, name: string): boolean {
  return stacks.length === 0 || stacks.some((pattern) => matchesStack(pattern, name));
}

/** The one stack that a hook is for; undefined where it may be for others. */
export function onlyStackOf({ stacks }: Pick<DriftHook, "stacks">): string | undefined {
  const [first, ...others] = stacks;
  return others.length > 0 || first?.includes("*") === true ? undefined : first;
}

/** What the secrets of the hooks of a project belong to; of each, `path` is its id. */
export function driftHookSecrets({ account, project }: Omit<DriftHookReference, "name">) {
  return { account, project, of: "drift hook" } as const;
}
