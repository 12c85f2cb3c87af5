import { append } from "@stackwright/base/append";
import { Type, Value } from "@stackwright/cty";
import type { EvaluationContext } from "../eval/context.ts";
import type { LangFunction } from "../eval/function.ts";
import type { FunctionCall } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { anyParam } from "./parameter.ts";

const expression = anyParam("expression", "the expression to try");

/** A reference to nothing is a mistake that no other value of anything can mend. */
function isStaticError({ code }: Diagnostic): boolean {
  return code === "LANG_EVAL_REFERENCE";
}

/** A call of a function that does not exist fails at all times, which is allowed here and seldom meant. */
function warnOfFunctions(context: EvaluationContext, diagnostics: readonly Diagnostic[]): void {
  context.add(
    diagnostics
      .filter(({ code }) => code === "LANG_EVAL_FUNCTION")
      .map((one) => ({ ...one, severity: "warning" as const })),
  );
}

/**
 * The first argument that evaluates without errors. Where its value is not wholly known, a later
 * value may still make it fail and another argument be chosen: nothing can be said then.
 */
function evaluateTry(call: FunctionCall, context: EvaluationContext): Value {
  const failures: Diagnostic[] = [];
  for (const [at, argument] of call.arguments.entries()) {
    const { value, diagnostics, failed } = context.separately(argument);
    const errors = diagnostics.filter(isStaticError);
    if (errors.length > 0) {
      context.add(errors);
      return Value.dynamic;
    }
    warnOfFunctions(context, diagnostics);
    if (!failed && value.isWhollyKnown) return value;
    if (!failed) {
      for (const other of call.arguments.slice(at + 1)) context.visit(other);
      return Value.dynamic.withMarksOf(value);
    }
    append(failures, diagnostics);
  }
  const reasons = failures.map(({ summary, detail }) => `- ${summary}: ${detail}`);
  const detail =
    reasons.length === 0
      ? "At least one expression is required."
      : `No expression succeeded:\n\n${reasons.join("\n")}`;
  context.error("LANG_EVAL_CALL", detail, call, call);
  return Value.dynamic;
}

function evaluateCan(call: FunctionCall, context: EvaluationContext): Value {
  const [argument] = call.arguments;
  if (argument === undefined) return Value.unknown(Type.bool);
  const { value, diagnostics, failed } = context.separately(argument);
  const errors = diagnostics.filter(isStaticError);
  if (errors.length > 0) {
    context.add(errors);
    return Value.unknown(Type.bool);
  }
  warnOfFunctions(context, diagnostics);
  if (failed) return Value.false;
  return value.isWhollyKnown ? Value.true : Value.unknown(Type.bool);
}

export const LAZY_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "try",
    category: "type",
    description: "The value of the first expression that can be evaluated without errors.",
    parameters: [],
    rest: expression,
    evaluate: evaluateTry,
  },
  {
    name: "can",
    category: "type",
    description: "Whether an expression can be evaluated without errors.",
    parameters: [expression],
    evaluate: evaluateCan,
  },
];
