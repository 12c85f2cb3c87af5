import { Path, type Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { checkType, checkWriteOnly } from "./assert-object.ts";
import { CompatibilityCheck } from "./compatible.ts";
import type { PlannedAction } from "./replacement.ts";
import { type ContractViolation, Violations } from "./violation.ts";

/** Two plans for one object: the one that was approved, and the one made with all values known. */
export interface PlansToCompare {
  readonly block: BlockSchema;
  readonly approved: Value;
  readonly final: Value;
  readonly approvedAction: PlannedAction;
  readonly finalAction: PlannedAction;
  readonly legacyTypeSystem: boolean;
}

/**
 * Rules for the plan made at apply, before anything is done: it is the approved one with more known in it, and does the
 * same. An update may turn out to have nothing left to do.
 *
 * Source: Terraform's contract of PlanResourceChange.
 */
export function assertRefines(plans: PlansToCompare): readonly ContractViolation[] {
  const violations = new Violations(plans.legacyTypeSystem);
  const { block, approved, final, approvedAction, finalAction } = plans;
  if (finalAction !== approvedAction && !(approvedAction === "update" && finalAction === "no-op")) {
    const message = `the action was to be ${approvedAction}, and is ${finalAction} now`;
    violations.add("action", Path.root, message);
    return violations.found;
  }
  if (!checkType(block, final, violations)) return violations.found;
  checkWriteOnly(block, final, violations);
  new CompatibilityCheck(violations).block(block, Path.root, approved, final);
  return violations.found;
}
