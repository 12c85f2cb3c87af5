import type { StackReference } from "@stackwright/core";
import type { PlanSetMember } from "@stackwright/proto/stackwright";
import { planSetPlace, type RunReference } from "../domain/run-places.ts";

/** Names a plan set. */
export interface PlanSetReference {
  readonly project: Pick<StackReference, "account" | "project">;
  readonly set: string;
}

export function placeOfSet({ project, set }: PlanSetReference): ReturnType<typeof planSetPlace> {
  return planSetPlace(project, set);
}

/** The run of a member, which may not be requested yet. */
export function runOfMember(
  { project }: PlanSetReference,
  { stack, run }: Pick<PlanSetMember, "stack" | "run">,
): RunReference {
  const { account, project: name } = project;
  return { stack: { account, project: name, stack }, run };
}
