import { CtyError, convert, Value } from "@stackwright/cty";
import type { EvaluationContext } from "../eval/context.ts";
import type { LangFunction } from "../eval/function.ts";
import type { FunctionCall } from "../syntax/ast.ts";
import { parseTypeConstraint } from "../type/type-constraint.ts";
import { applyTypeDefaults } from "../type/type-defaults.ts";
import { anyParam } from "./parameter.ts";

function evaluateConvert(call: FunctionCall, context: EvaluationContext): Value {
  const [valueNode, typeNode] = call.arguments;
  if (valueNode === undefined || typeNode === undefined) return Value.dynamic;
  const errors = context.errorCount;
  const value = context.value(valueNode);
  const { type, defaults, diagnostics } = parseTypeConstraint(typeNode);
  context.add(diagnostics);
  if (context.errorCount > errors) return Value.dynamic;
  try {
    return convert(applyTypeDefaults(value, defaults), type);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const detail = `The value cannot be converted to this type: ${error.message}.`;
    context.error("LANG_EVAL_ARGUMENT", detail, valueNode, valueNode, { context: call });
    return Value.unknown(type);
  }
}

/** `convert(value, type)`: the only function whose argument is a type. */
export const CONVERT_FUNCTION: LangFunction = {
  name: "convert",
  category: "type",
  description: "The value as a value of a type, such as convert(x, list(string)).",
  parameters: [anyParam("value", "the value"), anyParam("type", "the type constraint")],
  evaluate: evaluateConvert,
};
