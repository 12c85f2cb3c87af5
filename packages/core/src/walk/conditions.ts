import {
  type ConditionRule,
  checkCondition,
  type Diagnostic,
  type EvaluationScope,
  sourceRange,
} from "@stackwright/lang";
import type { CheckKind, CheckResult } from "../state/check-result.ts";

/** Conditions of one thing, and where what comes of them goes. */
interface ConditionsOf {
  readonly address: string;
  readonly kind: CheckKind;
  readonly conditions: readonly ConditionRule[];
  readonly scope: EvaluationScope;
  readonly report: (diagnostics: readonly Diagnostic[]) => void;
  readonly keep: (result: CheckResult) => void;
  /** Whether a check that cannot be decided yet is worth a warning. */
  readonly tellOpen?: boolean;
}

/** The summary of a condition of a variable that does not hold. */
export const INVALID_VARIABLE = "Invalid value for variable";

const SUMMARIES: Readonly<Record<CheckKind, string>> = {
  variable: INVALID_VARIABLE,
  precondition: "Resource precondition failed",
  postcondition: "Resource postcondition failed",
  output: "Module output value precondition failed",
  check: "Check block assertion failed",
};

function openCheck(address: string, { condition }: ConditionRule): Diagnostic {
  return {
    severity: "warning",
    code: "ENGINE_CHECK",
    summary: "Check block assertion known after apply",
    detail:
      "The condition could not be decided yet, because it needs values that are known only after apply.",
    subject: sourceRange(condition.source, condition.start, condition.end),
    address,
  };
}

/** Evaluates conditions. True unless one of them fails or cannot be evaluated; what is unknown is open, not failed. */
export function evaluateConditions({
  address,
  kind,
  conditions,
  scope,
  report,
  keep,
  tellOpen,
}: ConditionsOf): boolean {
  let good = true;
  for (const [index, condition] of conditions.entries()) {
    const result = checkCondition(condition, scope, SUMMARIES[kind]);
    const { status, message } = result;
    keep({ address, kind, index, status, ...(message !== undefined && { message }) });
    // A check says what is wrong, and nothing stops because of it.
    const soft = kind === "check";
    report(
      result.diagnostics.map((diagnostic) => ({
        ...diagnostic,
        ...(soft && { severity: "warning" as const }),
        address: diagnostic.address ?? address,
      })),
    );
    if (soft && status === "unknown" && tellOpen === true) report([openCheck(address, condition)]);
    if (!soft && (status === "fail" || status === "error")) good = false;
  }
  return good;
}

/** Evaluates conditions for what they ask for alone: nothing comes of them. */
export function validateConditions(
  conditions: readonly ConditionRule[],
  scope: EvaluationScope,
): void {
  for (const condition of conditions) checkCondition(condition, scope, "");
}
