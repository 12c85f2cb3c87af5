import { CtyError, convert, Mark, Type, unmarkDeep, type Value } from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import { observed } from "../eval/observe.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import type { ConditionRule } from "./module-config.ts";
import { rangeOf } from "./static-reader.ts";

/** What came of a condition. */
export interface ConditionResult {
  /** `unknown` where it cannot be decided yet, `error` where it cannot be evaluated. */
  readonly status: "pass" | "fail" | "unknown" | "error";
  /** The message of a failed condition, for display. Without what must not be shown. */
  readonly message?: string;
  /** Why a failed condition has no message of its own. */
  readonly messageProblem?: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Evaluates a condition in a scope; a failed one is reported with its message under a summary. */
export function checkCondition(
  { condition, errorMessage, range }: ConditionRule,
  scope: EvaluationScope,
  summary: string,
): ConditionResult {
  const { value, diagnostics } = evaluate(condition, scope);
  if (hasErrors(diagnostics)) return { status: "error", diagnostics };
  const [plain] = unmarkDeep(value);
  const invalid = (detail: string): ConditionResult => ({
    status: "error",
    diagnostics: [
      ...diagnostics,
      {
        severity: "error",
        code: "LANG_CONFIG",
        summary: "Invalid condition result",
        detail,
        subject: rangeOf(condition),
        ...observed(condition, scope),
      },
    ],
  });
  if (!plain.isKnown) return { status: "unknown", diagnostics };
  if (plain.isNull) return invalid("A condition must be true or false, not null.");
  let holds: boolean;
  try {
    holds = convert(plain, Type.bool).asBoolean();
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return invalid(`A condition must be true or false: ${error.message}.`);
  }
  if (holds) return { status: "pass", diagnostics };
  const text = evaluate(errorMessage, scope);
  const [message, messageProblem] = messageText(text.value);
  return {
    status: "fail",
    message,
    ...(messageProblem !== undefined && { messageProblem }),
    diagnostics: [
      ...diagnostics,
      ...text.diagnostics,
      {
        severity: "error",
        code: "LANG_CONFIG",
        summary,
        isFailedCondition: true,
        detail: message,
        subject: rangeOf(condition),
        context: range,
        ...observed(condition, scope),
      },
    ],
  };
}

/** The message for display, and what is wrong with it as a message. */
function messageText(given: Value): readonly [message: string, problem?: string] {
  const [value, marks] = unmarkDeep(given);
  for (const mark of [Mark.sensitive, Mark.ephemeral]) {
    if (marks.has(mark)) {
      return [`The message of this condition is made of ${mark.kind} values and is not shown.`];
    }
  }
  const none = "The condition does not hold, and its message could not be evaluated.";
  if (value.isNull) return [none, "The message of a condition must not be null."];
  try {
    const text = convert(value, Type.string);
    if (text.isKnown) return [text.asString().trim()];
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return [none, `The message of a condition must be a text: ${error.message}.`];
  }
  return [none, "The message of a condition is not known."];
}
