import { convert, Value } from "@stackwright/cty";
import type { Expression, FunctionCall } from "../syntax/ast.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { callFunction, functionFailure } from "./call-function.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";
import { EVAL_PROBLEMS } from "./eval-problem.ts";
import { functionCallFrame, type LangFunction, type ValueFunction } from "./function.ts";

/** An argument and the expression to blame for it. */
interface Argument {
  readonly value: Value;
  readonly expression: Expression;
}

export function evaluateCall(context: EvaluationContext, node: FunctionCall): Value {
  const name = node.name.startsWith("core::") ? node.name.slice("core::".length) : node.name;
  const definition = context.scope.functions.get(name);
  if (definition === undefined) return unknownFunction(context, node);
  if (definition.deprecated !== undefined) {
    const at = { source: node.source, start: node.start, end: node.nameEnd };
    context.warn("LANG_EVAL_DEPRECATED", "Deprecated function", definition.deprecated, at);
  }
  if ("evaluate" in definition) {
    const bounded = checkArity(context, node, definition, node.arguments.length);
    return bounded ? definition.evaluate(node, context) : Value.dynamic;
  }
  const errors = context.errorCount;
  const args = expandArguments(context, node);
  if (args instanceof Value) return args;
  if (!checkArity(context, node, definition, args.length)) return Value.dynamic;
  const values = args.map((argument, position) =>
    convertArgument(context, node, definition, argument, position),
  );
  if (context.errorCount > errors) return Value.dynamic;
  try {
    const result = callFunction(definition, values, context.scope.functions.host, (detail) =>
      context.warn("LANG_EVAL_RESULT", EVAL_PROBLEMS.LANG_EVAL_RESULT, detail, node),
    );
    context.checkSize(result);
    return result;
  } catch (error) {
    const failure = functionFailure(error);
    reportFailure(context, node, definition, args, failure);
    return Value.dynamic;
  }
}

function unknownFunction(context: EvaluationContext, node: FunctionCall): Value {
  const { functions } = context.scope;
  const split = node.name.lastIndexOf("::");
  const scope = split === -1 ? "" : node.name.slice(0, split + 2);
  const known = [...functions.names()].filter((name) => name.startsWith(scope));
  const at = { source: node.source, start: node.start, end: node.nameEnd };
  const detail =
    scope !== "" && known.length === 0
      ? `There are no functions in "${scope}".${declareProvider(scope)}`
      : `There is no function named "${node.name}".${didYouMean(node.name, known)}`;
  context.error("LANG_EVAL_FUNCTION", detail, at, undefined, { context: node });
  return Value.dynamic;
}

/** What is to be done where a name belongs to no provider that the module declares. */
function declareProvider(scope: string): string {
  const [first, provider = "", rest] = scope.split("::");
  if (first !== "provider" || provider === "" || rest !== "") return "";
  return ` Functions of a provider can be called where required_providers of the module has an entry for it: "${provider}" has none here, or has no functions.`;
}

/** Values of the arguments, `...` expanded; or the result of the call, where that is not possible (yet). */
function expandArguments(context: EvaluationContext, node: FunctionCall): Argument[] | Value {
  const expressions = node.expandFinal ? node.arguments.slice(0, -1) : node.arguments;
  const final = node.expandFinal ? node.arguments.at(-1) : undefined;
  const args = expressions.map((expression) => ({ value: context.value(expression), expression }));
  if (final === undefined) return args;
  const errors = context.errorCount;
  const [value, marks] = context.value(final).unmark();
  const result = Value.dynamic.withMarks(marks);
  if (context.errorCount > errors) return result;
  const fail = (detail: string): Value => {
    context.error("LANG_EVAL_EXPAND", detail, final, final, { context: node });
    return result;
  };
  if (value.isNull) return fail('The argument in front of "..." must not be null.');
  if (value.type.kind === "dynamic") return result;
  if (!["list", "set", "tuple"].includes(value.type.kind)) {
    return fail('The argument in front of "..." must be a list, set or tuple.');
  }
  if (!value.isKnown) return result;
  for (const element of value.elements()) {
    args.push({ value: element.withMarks(marks), expression: final });
  }
  return args;
}

function checkArity(
  context: EvaluationContext,
  node: FunctionCall,
  definition: LangFunction,
  count: number,
): boolean {
  const { parameters, rest } = definition;
  const missing = parameters[count];
  const call = functionCallFrame(definition, node.name);
  if (missing !== undefined) {
    const at = { source: node.source, start: node.closeStart, end: node.end };
    const least = rest === undefined ? "" : "at least ";
    context.error(
      "LANG_EVAL_ARITY",
      `The function "${node.name}" takes ${least}${parameters.length} argument(s); "${missing.name}" is missing: ${missing.description}.`,
      at,
      undefined,
      { summary: "Not enough function arguments", context: node, call },
    );
    return false;
  }
  if (rest === undefined && count > parameters.length) {
    const extra = node.arguments[Math.min(parameters.length, node.arguments.length - 1)] ?? node;
    context.error(
      "LANG_EVAL_ARITY",
      `The function "${node.name}" takes only ${parameters.length} argument(s).`,
      extra,
      undefined,
      { summary: "Too many function arguments", context: node, call },
    );
    return false;
  }
  return true;
}

function convertArgument(
  context: EvaluationContext,
  node: FunctionCall,
  definition: ValueFunction,
  { value, expression }: Argument,
  position: number,
): Value {
  const parameter = definition.parameters[position] ?? definition.rest;
  if (parameter === undefined) return value;
  try {
    return convert(value, parameter.type);
  } catch (error) {
    context.error(
      "LANG_EVAL_ARGUMENT",
      `Invalid value for the parameter "${parameter.name}": ${conversionMessage(error)}.`,
      expression,
      expression,
      { context: node, call: functionCallFrame(definition, node.name) },
    );
    return Value.unknown(parameter.type);
  }
}

function reportFailure(
  context: EvaluationContext,
  node: FunctionCall,
  definition: ValueFunction,
  args: readonly Argument[],
  { message, argument }: { message: string; argument: number | undefined },
): void {
  const call = functionCallFrame(definition, node.name);
  const blamed = argument === undefined ? undefined : args[argument];
  const parameter =
    argument === undefined ? undefined : (definition.parameters[argument] ?? definition.rest);
  if (blamed === undefined || parameter === undefined) {
    const detail = `The call of the function "${node.name}" failed: ${message}.`;
    context.error("LANG_EVAL_CALL", detail, node, node, { call });
    return;
  }
  context.error(
    "LANG_EVAL_ARGUMENT",
    `Invalid value for the parameter "${parameter.name}": ${message}.`,
    blamed.expression,
    blamed.expression,
    { context: node, call },
  );
}
