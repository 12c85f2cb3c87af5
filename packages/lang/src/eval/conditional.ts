import {
  CtyError,
  convert,
  isCollectionType,
  type Refinements,
  rangeOf,
  refine,
  refineNotNull,
  Type,
  typeName,
  unify,
  Value,
  type ValueRange,
} from "@stackwright/cty";
import type { Conditional } from "../syntax/ast.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";

/**
 * `condition ? whenTrue : whenFalse`. Both arms are evaluated and must agree on a type, because the
 * type of an expression must not depend on a value that may be unknown; only the chosen arm's
 * problems are reported. The marks of all three parts go to the result.
 */
export function evaluateConditional(context: EvaluationContext, node: Conditional): Value {
  const whenTrue = context.separately(node.whenTrue);
  const whenFalse = context.separately(node.whenFalse);
  const common = commonType(whenTrue.value, whenFalse.value);
  if (common === undefined) {
    const why = describeDifference(whenTrue.value.type, whenFalse.value.type);
    context.error(
      "LANG_EVAL_CONDITIONAL_TYPES",
      `Both values of a conditional must be of one type. ${why}.`,
      { source: node.source, start: node.whenTrue.start, end: node.whenFalse.end },
      node,
      { context: node },
    );
    return Value.dynamic;
  }
  const condition = context.value(node.condition);
  const fail = (detail: string): Value => {
    context.error("LANG_EVAL_CONDITION", detail, node.condition, node.condition, { context: node });
    return Value.unknown(common.type);
  };
  if (condition.isNull) return fail("The condition is null; it must be true or false.");
  const [plain, conditionMarks] = condition.unmark();
  const [a, aMarks] = whenTrue.value.unmark();
  const [b, bMarks] = whenFalse.value.unmark();
  const marks = conditionMarks.union(aMarks).union(bMarks);
  if (!plain.isKnown) return unknownResult(a, b, common.type).withMarks(marks);
  let chosen: boolean;
  try {
    chosen = convert(plain, Type.bool).asBoolean();
  } catch (error) {
    return fail(`The condition must be true or false: ${conversionMessage(error)}.`);
  }
  const arm = chosen ? whenTrue : whenFalse;
  context.add(arm.diagnostics);
  const value = chosen ? a : b;
  const conversion = common.conversions[chosen ? 0 : 1];
  if (conversion === undefined) return value.withMarks(marks);
  try {
    return conversion(value).withMarks(marks);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const expression = chosen ? node.whenTrue : node.whenFalse;
    const detail = `This value does not have the type of the other one: ${error.message}.`;
    context.error("LANG_EVAL_CONDITIONAL_TYPES", detail, expression, expression, { context: node });
    return Value.unknown(common.type).withMarks(marks);
  }
}

interface CommonType {
  readonly type: Type;
  readonly conversions: readonly (((value: Value) => Value) | undefined)[];
}

/** The type of the result. A literal null takes the type of the other arm. */
function commonType(a: Value, b: Value): CommonType | undefined {
  const isOpenNull = (value: Value): boolean =>
    value.type.kind === "dynamic" && !value.isMarked && value.isNull;
  const as = (type: Type) => (value: Value) => convert(value, type);
  if (isOpenNull(a)) return { type: b.type, conversions: [as(b.type), undefined] };
  if (isOpenNull(b)) return { type: a.type, conversions: [undefined, as(a.type)] };
  if (a.type.kind === "dynamic" || b.type.kind === "dynamic") {
    return { type: Type.dynamic, conversions: [undefined, undefined] };
  }
  return unify([a.type, b.type], { unsafe: true });
}

/** What can be said of the result while the condition is unknown: what holds for both arms. */
function unknownResult(a: Value, b: Value, type: Type): Value {
  if (a.isNull && b.isNull) return Value.null(type);
  const [rangeA, rangeB] = [rangeOf(a), rangeOf(b)];
  const unknown = Value.unknown(type);
  const notNull = rangeA.isNull === false && rangeB.isNull === false;
  const sameType = a.type.equals(b.type);
  if (sameType && type.kind === "number") {
    return refine(unknown, { ...(notNull && { notNull }), ...commonBounds(rangeA, rangeB) });
  }
  if (sameType && isCollectionType(type)) {
    const maxLength = Math.max(rangeA.maxLength, rangeB.maxLength);
    return refine(unknown, {
      ...(notNull && { notNull }),
      minLength: Math.min(rangeA.minLength, rangeB.minLength),
      ...(maxLength !== Number.POSITIVE_INFINITY && { maxLength }),
    });
  }
  return notNull ? refineNotNull(unknown) : unknown;
}

function commonBounds(a: ValueRange, b: ValueRange): Refinements {
  const pick = (x: ValueRange["min"], y: ValueRange["min"], sign: 1 | -1) => {
    if (x === undefined || y === undefined) return undefined;
    const order = x.value.compare(y.value) * sign;
    if (order === 0) return { value: x.value, inclusive: x.inclusive || y.inclusive };
    return order < 0 ? x : y;
  };
  const min = pick(a.min, b.min, 1);
  const max = pick(a.max, b.max, -1);
  return { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
}

/** Where two types differ, down to the attribute or element. */
function describeDifference(a: Type, b: Type): string {
  if (a.kind === "object" && b.kind === "object") {
    const onlyA = a.names.find((name) => !b.has(name));
    if (onlyA !== undefined) {
      return `The first value has the attribute "${onlyA}", which the second has not`;
    }
    const onlyB = b.names.find((name) => !a.has(name));
    if (onlyB !== undefined) {
      return `The second value has the attribute "${onlyB}", which the first has not`;
    }
    for (const name of a.names) {
      const [typeA, typeB] = [a.attribute(name), b.attribute(name)];
      if (typeA !== undefined && typeB !== undefined && !typeA.equals(typeB)) {
        return `The values differ in the attribute "${name}": ${lowerFirst(describeDifference(typeA, typeB))}`;
      }
    }
  }
  if (a.kind === "tuple" && b.kind === "tuple") {
    if (a.elements.length !== b.elements.length) {
      return `The first value has ${a.elements.length} elements, the second has ${b.elements.length}`;
    }
    for (const [position, typeA] of a.elements.entries()) {
      const typeB = b.elements[position];
      if (typeB !== undefined && !typeA.equals(typeB)) {
        return `The values differ in the element ${position}: ${lowerFirst(describeDifference(typeA, typeB))}`;
      }
    }
  }
  return `The first value is ${typeName(a)}, the second is ${typeName(b)}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
