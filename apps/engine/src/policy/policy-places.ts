import { type PolicySet, PolicySet_Enforcement } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";
import { matchesStack } from "../domain/stack-pattern.ts";

/** Where the policy sets of an account are. */
export function policySetPlace(account: string, name: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name };
}

/** Whether a set judges plans of a stack. */
export function judges(
  { projects, stacks }: Pick<PolicySet, "projects" | "stacks">,
  project: string,
  stackName: string,
): boolean {
  const covers = (patterns: readonly string[], name: string): boolean =>
    patterns.length === 0 || patterns.some((one) => matchesStack(one, name));
  return covers(projects, project) && covers(stacks, stackName);
}

const ENFORCEMENTS = {
  advisory: PolicySet_Enforcement.ENFORCEMENT_ADVISORY,
  overridable: PolicySet_Enforcement.ENFORCEMENT_OVERRIDABLE,
  mandatory: PolicySet_Enforcement.ENFORCEMENT_MANDATORY,
} as const;

type EnforcementName = keyof typeof ENFORCEMENTS;

export function enforcementOf(name: EnforcementName): PolicySet_Enforcement {
  return ENFORCEMENTS[name];
}

/** The name of a stored enforcement; the strictest for one that is not known. */
export function enforcementName(stored: PolicySet_Enforcement): EnforcementName {
  const names = Object.keys(ENFORCEMENTS) as EnforcementName[];
  return names.find((name) => ENFORCEMENTS[name] === stored) ?? "mandatory";
}
