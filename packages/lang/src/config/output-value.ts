import { append } from "@stackwright/base/append";
import { deepMarks, Mark, Value } from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import { traitText } from "../eval/explain.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { type ConditionResult, checkCondition } from "./condition.ts";
import type { OutputConfig } from "./module-config.ts";
import { rangeOf } from "./static-reader.ts";

/** An output and what is wrong with it. */
export interface EvaluatedOutput {
  /** Marked as the output is declared; unknown where a condition fails or cannot be decided. */
  readonly value: Value;
  readonly preconditions: readonly ConditionResult[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Evaluates an output in the scope of its module. Its preconditions come first: where one fails
 * there is no value. What is sensitive leaves the root module only where that is declared;
 * ephemeral values leave any module only where that is declared.
 */
export function evaluateOutput(
  output: OutputConfig,
  scope: EvaluationScope,
  { root }: { readonly root: boolean },
): EvaluatedOutput {
  const { name, expression, sensitive, ephemeral } = output;
  const preconditions = output.preconditions.map((condition) =>
    checkCondition(condition, scope, "Module output value precondition failed"),
  );
  const diagnostics = preconditions.flatMap((result) => result.diagnostics);
  const marks = [...(sensitive ? [Mark.sensitive] : []), ...(ephemeral ? [Mark.ephemeral] : [])];
  const unknown = Value.dynamic.mark(...marks);
  if (hasErrors(diagnostics)) return { value: unknown, preconditions, diagnostics };
  const { value, diagnostics: found } = evaluate(expression, scope);
  append(diagnostics, found);
  const has = (mark: Mark): boolean => value.containsMarks && deepMarks(value).has(mark);
  const fail = (summary: string, detail: string, subject: SourceRange): void => {
    diagnostics.push({ severity: "error", code: "LANG_CONFIG", summary, detail, subject });
  };
  if (root && !sensitive && has(Mark.sensitive)) {
    const detail = `The value of the output "${name}" is sensitive, so that the output must be declared with sensitive = true.${traitText(expression, scope, "sensitive")}`;
    fail("Output refers to sensitive values", detail, output.range);
  }
  if (!ephemeral && has(Mark.ephemeral)) {
    const detail = `The output "${name}" is not declared with ephemeral = true, so that its value cannot be ephemeral.${traitText(expression, scope, "ephemeral")}`;
    fail("Ephemeral value not allowed", detail, rangeOf(expression));
  }
  return { value: value.mark(...marks), preconditions, diagnostics };
}
