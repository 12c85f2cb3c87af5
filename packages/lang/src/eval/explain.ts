import { deepMarks, Mark, type Value } from "@stackwright/cty";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { evaluate } from "./evaluate.ts";
import type { EvaluationScope } from "./scope.ts";

/** What is to be explained about a value. */
export type ValueTrait = "unknown" | "sensitive" | "ephemeral";

/** One reference on the way to the reason. */
export interface ReasonStep {
  /** The reference as written, such as `local.ids` or `aws_vpc.main.id`. */
  readonly reference: string;
  readonly range: SourceRange;
}

/** Longest way that is followed. */
const MAX_STEPS = 12;

/**
 * Why a value is unknown, sensitive or ephemeral: the references from the expression to where it
 * comes from, through what names are defined as. Of several paths the first one is returned. Empty where
 * the expression is so by itself, as after a call of `timestamp` or `sensitive`.
 */
export function explainTrait(
  expression: Expression,
  scope: EvaluationScope,
  trait: ValueTrait,
): ReasonStep[] {
  const steps: ReasonStep[] = [];
  const seen = new Set<Expression>();
  let place: Place | undefined = { expression, scope };
  while (place !== undefined && steps.length < MAX_STEPS && !seen.has(place.expression)) {
    seen.add(place.expression);
    const here: EvaluationScope = place.scope;
    const cause = causeIn(place, trait);
    if (cause === undefined) break;
    const { source, start, end } = cause;
    steps.push({
      reference: source.text.slice(start, end),
      range: sourceRange(source, start, end),
    });
    place = here.definition?.(cause);
  }
  return steps;
}

interface Place {
  readonly expression: Expression;
  readonly scope: EvaluationScope;
}

function causeIn({ expression, scope }: Place, trait: ValueTrait): ScopeTraversal | undefined {
  return expressionReferences(expression).find((reference) => hasTrait(reference, scope, trait));
}

function hasTrait(reference: ScopeTraversal, scope: EvaluationScope, trait: ValueTrait): boolean {
  const { value, diagnostics } = evaluate(reference, scope);
  if (hasErrors(diagnostics)) return false;
  return valueHas(value, trait);
}

function valueHas(value: Value, trait: ValueTrait): boolean {
  if (trait === "unknown") return !value.isWhollyKnown;
  return value.containsMarks && deepMarks(value).has(Mark[trait]);
}

const ENDS: Readonly<Record<ValueTrait, string>> = {
  unknown: "which is known only after apply",
  sensitive: "which is sensitive",
  ephemeral: "which is ephemeral",
};

/**
 * The explanation as sentences to be put behind a message: ` It comes from local.a (main.tf line 3),
 * from aws_vpc.b.id (net.tf line 9), which is known only after apply.` Empty where there is none.
 */
export function traitText(
  expression: Expression,
  scope: EvaluationScope,
  trait: ValueTrait,
): string {
  const steps = explainTrait(expression, scope, trait);
  if (steps.length === 0) return "";
  const shown = steps.map(({ reference, range: { source, start, end } }) => {
    const { filename, start: at } = source.locate(start, end);
    return `${reference} (${filename} line ${at.line})`;
  });
  return ` It comes from ${shown.join(", from ")}, ${ENDS[trait]}.`;
}
