import { Path, unknownAsNull, type Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { type CheckedObject, checkKnown, checkType, checkWriteOnly } from "./assert-object.ts";
import { CompatibilityCheck } from "./compatible.ts";
import { Violations } from "./violation.ts";
import { withoutWriteOnly } from "./write-only.ts";

/** What a provider answered to an apply, and what it was to do. */
export interface ResultToCheck {
  readonly block: BlockSchema;
  readonly planned: Value;
  readonly state: Value;
  /** The answer has error diagnostics: they explain what is different, so only its form is checked. */
  readonly failed: boolean;
  readonly legacyTypeSystem: boolean;
}

/**
 * Rules for the object after an apply: the type of the schema, nothing unknown, no write-only values; and, where the
 * apply succeeded, what was planned. What comes back is to be stored in any case, also when a rule was broken.
 *
 * Source: Terraform's contract of ApplyResourceChange.
 */
export function assertApplied(result: ResultToCheck): CheckedObject {
  const { block, planned, state, failed, legacyTypeSystem } = result;
  const violations = new Violations(legacyTypeSystem);
  if (!checkType(block, state, violations)) return { violations: violations.found, object: state };
  checkWriteOnly(block, state, violations);
  checkKnown(state, violations);
  const object = unknownAsNull(withoutWriteOnly(block, state));
  if (failed) return { violations: violations.found, object };
  if (state.isNull !== planned.isNull) {
    const message = planned.isNull ? "it was to be deleted and is there" : "nothing is there";
    // An object that is there or not is no matter of taste, in any type system.
    violations.found.push({ rule: "presence", path: Path.root, message, tolerated: false });
  } else if (state.isWhollyKnown) {
    new CompatibilityCheck(violations).block(block, Path.root, planned, object);
  }
  return { violations: violations.found, object };
}
