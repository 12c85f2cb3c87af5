import { CtyError, Type, Value } from "@stackwright/cty";
import { unreachable } from "../internal/unreachable.ts";
import type { Expression, IndexExpression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { SYNTAX_PROBLEMS } from "../syntax/problem.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { applySteps, elementOf } from "./access.ts";
import { evaluateCall } from "./call.ts";
import { evaluateConditional } from "./conditional.ts";
import { evaluateObject, evaluateTuple } from "./constructor.ts";
import { EvaluationContext, type EvaluationLimits, LimitReached } from "./context.ts";
import { EVAL_PROBLEMS } from "./eval-problem.ts";
import { evaluateFor } from "./for.ts";
import { evaluateNumber } from "./literal.ts";
import { evaluateBinary, evaluateUnary } from "./operator.ts";
import type { EvaluationScope } from "./scope.ts";
import { evaluateSplat } from "./splat.ts";
import { evaluateTemplate, evaluateTemplateJoin } from "./template.ts";

/** The value of an expression and what is wrong with it. */
export interface Evaluated {
  /** Unknown where errors keep it from being known. */
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Evaluates an expression. All its mistakes are reported, not only the first; nothing is thrown for
 * them. Unknown values and marks are carried through every operation.
 */
export function evaluate(
  expression: Expression,
  scope: EvaluationScope,
  limits: EvaluationLimits = {},
): Evaluated {
  const context = new EvaluationContext(scope, limits, evaluateNode);
  try {
    const value = context.value(expression);
    return { value, diagnostics: firstProblems(context) };
  } catch (error) {
    if (!isLimit(error)) throw error;
    const { source, start, end } = expression;
    const limit: Diagnostic = {
      severity: "error",
      code: "LANG_EVAL_LIMIT",
      summary: EVAL_PROBLEMS.LANG_EVAL_LIMIT,
      detail: `This expression is too expensive to evaluate. ${error.message}`,
      subject: sourceRange(source, start, end),
    };
    return { value: Value.dynamic, diagnostics: [...firstProblems(context), limit] };
  }
}

/** The problems of an evaluation up to the most that are reported; one more then says that there are others. */
function firstProblems({ diagnostics, limits }: EvaluationContext): readonly Diagnostic[] {
  const rest = diagnostics.slice(limits.maxErrors);
  const [next] = rest;
  if (next === undefined) return diagnostics;
  const { subject } = next;
  const more: Diagnostic = {
    severity: hasErrors(rest) ? "error" : "warning",
    code: "LANG_LIMIT_ERRORS",
    summary: SYNTAX_PROBLEMS.LANG_LIMIT_ERRORS,
    detail: `The first ${limits.maxErrors} problems of this expression are shown; there are more.`,
    ...(subject !== undefined && { subject }),
  };
  return [...diagnostics.slice(0, limits.maxErrors), more];
}

/** Whether an error says that a bound was reached: one of ours, or that on the depth of types. */
function isLimit(error: unknown): error is Error {
  return (
    error instanceof LimitReached || (error instanceof CtyError && error.code === "CTY_TOO_DEEP")
  );
}

function evaluateNode(context: EvaluationContext, node: Expression): Value {
  switch (node.kind) {
    case "number":
      return evaluateNumber(node);
    case "boolean":
      return Value.bool(node.value);
    case "null":
      return Value.null(Type.dynamic);
    case "string":
      return Value.string(node.value);
    case "json-string":
      return context.value(node.template);
    case "template":
      return evaluateTemplate(context, node);
    case "template-wrap":
    case "parentheses":
      return context.value(node.expression);
    case "template-join":
      return evaluateTemplateJoin(context, node);
    case "scope-traversal":
      return evaluateReference(context, node);
    case "relative-traversal":
      return applySteps(context, context.value(node.from), node.steps, node);
    case "index":
      return evaluateIndex(context, node);
    case "splat":
      return evaluateSplat(context, node);
    case "splat-item":
      return context.item(node) ?? Value.dynamic;
    case "call":
      return evaluateCall(context, node);
    case "conditional":
      return evaluateConditional(context, node);
    case "binary":
      return evaluateBinary(context, node);
    case "unary":
      return evaluateUnary(context, node);
    case "tuple":
      return evaluateTuple(context, node);
    case "object":
      return evaluateObject(context, node);
    case "for":
      return evaluateFor(context, node);
    case "invalid":
      return Value.dynamic;
    default:
      return unreachable(node);
  }
}

function evaluateReference(context: EvaluationContext, node: ScopeTraversal): Value {
  const local = context.local(node.root);
  if (local !== undefined) return applySteps(context, local, node.steps, node);
  const resolved = context.scope.resolve?.(node);
  if (resolved !== undefined) {
    return applySteps(context, resolved.value, node.steps.slice(resolved.steps), node);
  }
  const value = context.scope.variable(node.root);
  if (value !== undefined) return applySteps(context, value, node.steps, node);
  const detail =
    context.scope.explainMissing?.(node) ??
    `There is no "${node.root}" here.${didYouMean(node.root, context.scope.names())}`;
  context.error("LANG_EVAL_REFERENCE", detail, node, undefined);
  return Value.dynamic;
}

function evaluateIndex(context: EvaluationContext, node: IndexExpression): Value {
  const place = { source: node.source, start: node.openStart, end: node.end };
  const { collection } = node;
  const direct =
    collection.kind === "scope-traversal" && context.local(collection.root) === undefined;
  if (direct && context.scope.element !== undefined) {
    const key = context.value(node.key);
    const element = context.scope.element(collection, key);
    if (element !== undefined) return element;
    return elementOf(context, context.value(collection), key, place, node);
  }
  return elementOf(context, context.value(collection), context.value(node.key), place, node);
}
