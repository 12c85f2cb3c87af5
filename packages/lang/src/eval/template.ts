import { convert, Marks, refine, refineNotNull, Type, Value } from "@stackwright/cty";
import type { Template, TemplateJoin } from "../syntax/ast.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";

/** Longest known beginning that an unknown result is refined with, in UTF-16 units. */
const MAX_PREFIX = 128;

/**
 * Parts one behind the other, as one string that is never null. Where a part is unknown, so is the
 * result, but it begins with what stands in front of that part.
 */
export function evaluateTemplate(context: EvaluationContext, node: Template): Value {
  const pieces: string[] = [];
  let length = 0;
  let known = true;
  let marks = Marks.none;
  const errors = context.errorCount;
  for (const part of node.parts) {
    if (part.kind === "string") {
      if (known) pieces.push(part.value);
      continue;
    }
    const [value, partMarks] = context.value(part).unmark();
    marks = marks.union(partMarks);
    if (value.isNull) {
      const detail = "This is null, which cannot be put into a string.";
      context.error("LANG_EVAL_TEMPLATE", detail, part, part, { context: node });
      continue;
    }
    if (!value.isKnown) {
      known = false;
      continue;
    }
    try {
      const text = convert(value, Type.string).asString();
      if (known) pieces.push(text);
      length += text.length;
    } catch (error) {
      context.error("LANG_EVAL_TEMPLATE", conversionDetail(error, value), part, part, {
        context: node,
      });
    }
    if (length > context.limits.maxStringLength) throw tooLong(context);
  }
  const text = pieces.join("");
  if (known) return Value.string(text).withMarks(marks);
  const unknown = refineNotNull(Value.unknown(Type.string));
  if (text === "" || context.errorCount > errors) return unknown.withMarks(marks);
  return refine(unknown, { prefix: text.slice(0, MAX_PREFIX) }).withMarks(marks);
}

/** Results of a loop in a template, one behind the other. */
export function evaluateTemplateJoin(context: EvaluationContext, node: TemplateJoin): Value {
  const [tuple, tupleMarks] = context.value(node.loop).unmark();
  const unknown = Value.unknown(Type.string);
  if (tuple.type.kind !== "tuple" || !tuple.isKnown) return unknown.withMarks(tupleMarks);
  let marks = tupleMarks;
  let text = "";
  let known = true;
  // All results are strings or unknown: the content of the loop is a template itself.
  for (const element of tuple.elements()) {
    const [value, elementMarks] = element.unmark();
    marks = marks.union(elementMarks);
    if (value.isKnown && value.type.kind === "string") text += value.asString();
    else known = false;
    if (text.length > context.limits.maxStringLength) throw tooLong(context);
  }
  return (known ? Value.string(text) : unknown).withMarks(marks);
}

function tooLong(context: EvaluationContext): Error {
  return context.limit(
    `A string would be longer than ${context.limits.maxStringLength} characters.`,
  );
}

function conversionDetail(error: unknown, value: Value): string {
  const message = conversionMessage(error);
  const structured = ["list", "set", "map", "tuple", "object"].includes(value.type.kind);
  const hint = structured ? " Functions such as join and jsonencode make a string of it." : "";
  return `This value cannot be put into a string: ${message}.${hint}`;
}
