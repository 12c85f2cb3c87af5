import type { RunPhase } from "@stackwright/core";

const GOOD: ReadonlySet<RunPhase> = new Set(["applied", "no_changes", "plan_finished"]);

/** Whether a run of a set has ended as it was to. */
export function isSettledGood(phase: RunPhase): boolean {
  return GOOD.has(phase);
}
