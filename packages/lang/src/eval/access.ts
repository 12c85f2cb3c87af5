import {
  convert,
  getAttribute,
  hasIndex,
  index,
  length,
  Type,
  typeName,
  Value,
} from "@stackwright/cty";
import type { Expression, TraversalStep } from "../syntax/ast.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";
import { evaluateNumber } from "./literal.ts";

/** Applies literal steps to a value, one behind the other. `whole` is what is shown in problems. */
export function applySteps(
  context: EvaluationContext,
  from: Value,
  steps: readonly TraversalStep[],
  whole: Expression,
): Value {
  let value = from;
  for (const step of steps) {
    const errors = context.errorCount;
    value =
      step.kind === "attribute-step"
        ? attributeOf(context, value, step.name, step, whole)
        : elementOf(context, value, literalKey(step.key), step, whole);
    if (context.errorCount > errors) return Value.dynamic;
  }
  return value;
}

function literalKey(key: Extract<TraversalStep, { kind: "index-step" }>["key"]): Value {
  switch (key.kind) {
    case "number":
      return evaluateNumber(key);
    case "string":
      return Value.string(key.value);
    case "boolean":
      return Value.bool(key.value);
    case "null":
    default:
      return Value.null(Type.dynamic);
  }
}

/** `value.name` */
function attributeOf(
  context: EvaluationContext,
  value: Value,
  name: string,
  at: TraversalStep,
  whole: Expression,
): Value {
  const fail = (detail: string, summary?: string): Value => {
    context.error("LANG_EVAL_ATTRIBUTE", detail, at, whole, {
      context: whole,
      ...(summary !== undefined && { summary }),
    });
    return Value.dynamic;
  };
  const { type } = value;
  if (value.isNull) {
    return fail(
      "This value is null, so it has no attributes.",
      "Attempt to get attribute from null value",
    );
  }
  switch (type.kind) {
    case "dynamic":
      return Value.dynamic.withMarksOf(value);
    case "object":
      if (type.has(name)) return getAttribute(value, name);
      return fail(`This object has no attribute named "${name}".${didYouMean(name, type.names)}`);
    case "map": {
      const key = Value.string(name);
      if (isFalse(hasIndex(value, key))) {
        return fail(`This map has no element with the key "${name}".`, "Missing map element");
      }
      return index(value, key);
    }
    case "list":
    case "set": {
      if (type.element.kind === "object" && type.element.has(name)) {
        return fail(
          type.kind === "list"
            ? `This is a list of objects. To get the attribute "${name}" of all of them write "[*].${name}", for one of them give its index first.`
            : `This is a set of objects. To get the attribute "${name}" of all of them use a for expression.`,
        );
      }
      return fail(`A ${typeName(type)} has no attributes.`);
    }
    case "bool":
    case "capsule":
    case "number":
    case "string":
    case "tuple":
    default:
      return fail(`This value has no attributes: it is ${typeName(type)}.`);
  }
}

/** `collection[key]` */
export function elementOf(
  context: EvaluationContext,
  collection: Value,
  key: Value,
  at: Pick<Expression, "source" | "start" | "end">,
  whole: Expression,
): Value {
  const fail = (detail: string, summary?: string): Value => {
    context.error("LANG_EVAL_INDEX", detail, at, whole, {
      context: whole,
      ...(summary !== undefined && { summary }),
    });
    return Value.dynamic;
  };
  const { type } = collection;
  if (collection.isNull) {
    return fail("This value is null, so it has no elements.", "Attempt to index null value");
  }
  if (key.isNull) return fail("Null cannot be an index.");
  if (type.kind === "dynamic" || key.type.kind === "dynamic") {
    return Value.dynamic.withMarksOf(collection, key);
  }
  switch (type.kind) {
    case "list":
    case "tuple":
    case "map": {
      const converted = keyAs(key, type.kind === "map" ? Type.string : Type.number);
      if (typeof converted === "string") {
        return fail(`The key does not fit this ${type.kind}: ${converted}.`);
      }
      const [has] = hasIndex(collection, converted).unmark();
      if (!has.isKnown) {
        const unknown = type.kind === "tuple" ? Value.dynamic : Value.unknown(type.element);
        return unknown.withMarksOf(collection, key);
      }
      if (isFalse(has)) return fail(whyMissing(collection, converted));
      return index(collection, converted);
    }
    case "object":
      return attributeByKey(collection, key, type, fail);
    case "set":
      return fail(
        "Elements of a set have no index: they are identified by their value only. Use tolist to get a list in the order of iteration.",
      );
    case "bool":
    case "capsule":
    case "number":
    case "string":
    default:
      return fail(`This value has no elements: it is ${typeName(type)}.`);
  }
}

function attributeByKey(
  object: Value,
  key: Value,
  type: Extract<Type, { kind: "object" }>,
  fail: (detail: string) => Value,
): Value {
  const converted = keyAs(key, Type.string);
  if (typeof converted === "string") return fail(`The key does not fit an object: ${converted}.`);
  const [name] = converted.unmark();
  if (!name.isKnown) return Value.dynamic.withMarksOf(object, key);
  // As in the reference, the key of an attribute leaves its marks behind: which attributes an
  // object has is part of its type and no secret.
  if (type.has(name.asString())) return getAttribute(object, name.asString());
  if (key.type.kind === "number") {
    return fail("An object has attributes with names, not elements with numbers.");
  }
  // The name itself may be marked, so that it is not shown.
  const hint = key.isMarked ? "" : didYouMean(name.asString(), type.names);
  return fail(`The object has no attribute with this name.${hint}`);
}

/** The key as the type that the collection wants, or what is wrong with it. */
function keyAs(key: Value, type: Type): Value | string {
  try {
    return convert(key, type);
  } catch (error) {
    return conversionMessage(error);
  }
}

/** Why a collection has no element with a known key. The key may be marked: it is not shown. */
function whyMissing(collection: Value, marked: Value): string {
  const [key] = marked.unmark();
  if (key.type.kind !== "number") return "There is no element with this key.";
  const position = key.asBigFloat();
  if (!position.isInteger) return "An index must be a whole number, this one has a fraction.";
  if (position.sign < 0) return "An index must not be negative.";
  const [size] = length(collection).unmark();
  if (!size.isKnown) return "There is no element with this index.";
  return size.asInteger() === 0
    ? "The collection is empty."
    : "The index is not less than the length of the collection.";
}

function isFalse(marked: Value): boolean {
  const [value] = marked.unmark();
  return value.isKnown && !value.asBoolean();
}
