import {
  type ConditionRule,
  checkCondition,
  type Diagnostic,
  type EvaluationScope,
} from "@stackwright/lang";

/**
 * What is wrong with conditions. Whether they hold counts only where they are to be decided, and only as far as that can be
 * said already.
 */
export function conditionErrors(
  conditions: readonly ConditionRule[],
  scope: EvaluationScope,
  { decided }: { readonly decided: boolean },
): readonly Diagnostic[] {
  return conditions.flatMap((condition) => {
    const { status, diagnostics } = checkCondition(condition, scope, "Invalid value for variable");
    return status === "error" || decided ? diagnostics : [];
  });
}
