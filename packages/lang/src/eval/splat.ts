import { rangeOf, refine, refineNotNull, Type, Value } from "@stackwright/cty";
import type { Splat } from "../syntax/ast.ts";
import type { EvaluationContext } from "./context.ts";
import { openElements } from "./for.ts";

/**
 * `from[*].a` and `from.*.a`. Something that is no list, set or tuple counts as a tuple of one
 * element, null as an empty one. The result is a list where all elements are of one type from the
 * beginning (lists and sets), else a tuple.
 */
export function evaluateSplat(context: EvaluationContext, node: Splat): Value {
  const errors = context.errorCount;
  const from = context.value(node.from);
  if (context.errorCount > errors) return Value.dynamic;
  const [given, marks] = from.unmark();
  const isSequence = ["tuple", "list", "set"].includes(given.type.kind);
  if (given.isNull) {
    if (!isSequence) return Value.emptyTuple.withMarks(marks);
    context.error("LANG_EVAL_SPLAT", "A splat cannot go over a null list.", node.from, node.from, {
      summary: "Splat of null value",
      context: node,
    });
    return Value.dynamic;
  }
  if (given.type.kind === "dynamic") return Value.dynamic.withMarks(marks);
  const source = isSequence ? given : Value.tuple([given]);
  if (!source.isKnown) return unknownResult(context, node, source).withMarks(marks);

  let failed = false;
  const values = source.elements().map((element) => {
    const before = context.errorCount;
    const value = context.withItem(node.item, element, () => context.value(node.each));
    failed ||= context.errorCount > before;
    return value;
  });
  // An unknown that may be null makes a tuple of one element or of none.
  const openLength = !isSequence && !given.isKnown && rangeOf(given).isNull !== false;
  if (openLength) return Value.dynamic.withMarks(marks);
  if (failed) return Value.unknown(resultType(context, node, source)).withMarks(marks);
  if (source.type.kind === "tuple") return Value.tuple(values).withMarks(marks);
  const [first] = values;
  if (openElements(source)) {
    const type = resultType(context, node, source);
    const bounds = { minLength: 1, maxLength: source.size };
    return refine(refineNotNull(Value.unknown(type)), bounds).withMarks(marks);
  }
  if (first === undefined) {
    const type = resultType(context, node, source);
    return Value.list([], type.kind === "list" ? type.element : Type.dynamic).withMarks(marks);
  }
  if (!values.every((value) => value.type.equals(first.type))) {
    context.error(
      "LANG_EVAL_SPLAT",
      "The elements have results of different types, which cannot be in one list. A for expression makes a tuple, which may hold different types.",
      node.each,
      node.each,
      { summary: "Invalid nested splat expressions", context: node },
    );
    return Value.dynamic;
  }
  return Value.list(values).withMarks(marks);
}

/** The type of the result, from unknown elements of the source's types. */
function resultType(context: EvaluationContext, node: Splat, source: Value): Type {
  const typeOfEach = (element: Type): Type =>
    context.withItem(node.item, Value.unknown(element), () => {
      const { value, diagnostics } = context.separately(node.each);
      if (!source.isKnown) context.add(diagnostics);
      return value.type;
    });
  const { type } = source;
  if (type.kind === "list" || type.kind === "set") return Type.list(typeOfEach(type.element));
  return type.kind === "tuple" ? Type.tuple(type.elements.map(typeOfEach)) : Type.dynamic;
}

function unknownResult(context: EvaluationContext, node: Splat, source: Value): Value {
  const type = resultType(context, node, source);
  if (type.kind === "dynamic") return Value.dynamic;
  const unknown = refineNotNull(Value.unknown(type));
  if (type.kind !== "list" || source.type.kind === "tuple") return unknown;
  const { minLength, maxLength } = rangeOf(source);
  return refine(unknown, {
    minLength,
    ...(maxLength !== Number.POSITIVE_INFINITY && { maxLength }),
  });
}
