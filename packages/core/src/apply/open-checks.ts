import type { Plan } from "../plan/plan.ts";
import type { CheckResult } from "../state/check-result.ts";

/** Checks that the plan could not decide. */
export function openChecks({ checks }: Plan): readonly CheckResult[] {
  return checks.filter(({ status }) => status === "unknown");
}
