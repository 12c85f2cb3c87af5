import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, type ObservedValue } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import { describeValue } from "./describe.ts";
import { evaluate } from "./evaluate.ts";
import type { EvaluationScope } from "./scope.ts";

/** What the references of an expression stand for, to be shown with a problem that it has. */
function observeReferences(expression: Expression, scope: EvaluationScope): ObservedValue[] {
  const values = new Map<string, ObservedValue>();
  for (const reference of expressionReferences(expression)) {
    const traversal = reference.source.text.slice(reference.start, reference.end);
    if (values.has(traversal)) continue;
    const { value, diagnostics } = evaluate(reference, scope);
    if (hasErrors(diagnostics)) continue;
    values.set(traversal, { traversal, statement: describeValue(value) });
  }
  return [...values.values()];
}

/** The part of a diagnostic that shows what the references in an expression stand for. */
export function observed(
  expression: Expression,
  scope: EvaluationScope,
): Pick<Diagnostic, "values"> {
  const values = observeReferences(expression, scope);
  return values.length === 0 ? {} : { values };
}
