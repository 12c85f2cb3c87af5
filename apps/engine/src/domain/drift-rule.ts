import { createHash } from "node:crypto";
import {
  type DriftRule,
  DriftRule_Reaction,
  type Project,
  type StackDrift,
} from "@stackwright/proto/stackwright";

/** The least and the most minutes between two checks of a stack. */
export const MIN_DRIFT_MINUTES = 5;
export const MAX_DRIFT_MINUTES = 60 * 24 * 90;

/** What follows where drift is found, by its name in the API. */
export const DRIFT_REACTIONS = {
  report: DriftRule_Reaction.REACTION_UNSPECIFIED,
  plan: DriftRule_Reaction.REACTION_PLAN,
  repair: DriftRule_Reaction.REACTION_REPAIR,
  accept: DriftRule_Reaction.REACTION_ACCEPT,
} as const;

/** Whether what follows is applied without an approval, where the project allows that. */
export function isAppliedReaction({ reaction }: Pick<DriftRule, "reaction">): boolean {
  return (
    reaction === DriftRule_Reaction.REACTION_REPAIR ||
    reaction === DriftRule_Reaction.REACTION_ACCEPT
  );
}

/** What the cause of a run that looks for drift begins with, and that of one that is to remove or to record it. */
export const DRIFT_CHECK = "drift-check:";
export const DRIFT_REMEDY = "drift:";

/** The rule that a stack is checked by: its own, or that of its project; undefined where it is not checked. */
export function driftRuleOf(
  drift: Pick<StackDrift, "rule"> | undefined,
  project: Pick<Project, "drift"> | undefined,
): DriftRule | undefined {
  const rule = drift?.rule ?? project?.drift;
  // A rule of no minutes was damaged, or is of a release that has other rules.
  return rule === undefined || rule.paused || rule.everyMinutes === 0 ? undefined : rule;
}

/**
 * The first check of a stack after a moment. The checks of a stack are as far apart as its rule says, and begin somewhere in that time that
 * follows from its id: stacks of one rule are spread over it, and stay where they are.
 */
export function nextCheck(
  { everyMinutes }: Pick<DriftRule, "everyMinutes">,
  stack: string,
  afterMs: number,
): number {
  const every = Math.max(MIN_DRIFT_MINUTES, everyMinutes) * 60_000;
  const offset = createHash("sha256").update(stack).digest().readUIntBE(0, 6) % every;
  return (Math.floor((afterMs - offset) / every) + 1) * every + offset;
}
