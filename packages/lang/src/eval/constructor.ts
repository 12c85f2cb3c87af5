import { convert, Marks, Type, Value } from "@stackwright/cty";
import type { ObjectConstructor, ObjectKey, Tuple } from "../syntax/ast.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";
import { checkWeight } from "./weight.ts";

export function evaluateTuple(context: EvaluationContext, node: Tuple): Value {
  const elements = node.elements.map((element) => context.value(element));
  return checkWeight(context, Value.tuple(elements), elements);
}

/**
 * `{ key = value }`. Of equal keys the last one counts; in JSON they are a mistake. Where a key is unknown nothing is known of
 * the object, not even its type. Marks of keys go to the object: which attributes it has reveals
 * the keys.
 */
export function evaluateObject(context: EvaluationContext, node: ObjectConstructor): Value {
  const attributes = new Map<string, Value>();
  let known = true;
  let marks = Marks.none;
  for (const { key, value: valueNode } of node.items) {
    const errors = context.errorCount;
    const given = evaluateKey(context, key);
    const keyFailed = context.errorCount > errors;
    const value = context.value(valueNode);
    if (keyFailed) {
      known = false;
      continue;
    }
    const name = keyText(context, given, key);
    marks = marks.union(given.marks);
    if (name === undefined) known = false;
    else if (key.expression.kind === "json-string" && attributes.has(name)) {
      const detail = `An attribute "${name}" is set already in this object.`;
      context.error("LANG_EVAL_KEY", detail, key, key.expression, {
        summary: "Duplicate object attribute",
      });
      known = false;
    } else attributes.set(name, value);
  }
  if (!known) return Value.dynamic.withMarks(marks);
  return checkWeight(context, Value.object(attributes).withMarks(marks), attributes.values());
}

function evaluateKey(context: EvaluationContext, key: ObjectKey): Value {
  if (key.literal !== undefined) return Value.string(key.literal);
  const { expression } = key;
  if (expression.kind === "scope-traversal") {
    context.error(
      "LANG_EVAL_KEY",
      "A name with dots as a key may be meant as a reference or as text: put parentheses around a reference, quotes around text.",
      expression,
      undefined,
      { summary: "Ambiguous attribute key" },
    );
    return Value.dynamic;
  }
  return context.value(expression);
}

function keyText(context: EvaluationContext, given: Value, key: ObjectKey): string | undefined {
  if (given.isNull) {
    context.error("LANG_EVAL_KEY", "Null cannot be a key.", key, key.expression);
    return undefined;
  }
  const [plain] = given.unmark();
  try {
    const text = convert(plain, Type.string);
    return text.isKnown ? text.asString() : undefined;
  } catch (error) {
    const detail = `This value cannot be a key: ${conversionMessage(error)}.`;
    context.error("LANG_EVAL_KEY", detail, key, key.expression);
    return undefined;
  }
}
