import { BigFloat } from "../number/big-float.ts";
import { compareNumbers, type NumberPayload } from "../number/number-payload.ts";
import { equalPayloads } from "../value/equality.ts";
import { isNumberPayload, type Payload, Unknown } from "../value/payload.ts";
import { truthValue, UNKNOWN_TRUTH } from "../value/unknown.ts";
import { Value } from "../value/value.ts";
import { operand, unmarkDeep, withMarks1, withMarks2 } from "./operands.ts";

/**
 * Whether two values are equal, as the language sees it: nulls of any types are equal, values of different types are
 * not, and nothing is converted. Unknown where an unknown part leaves it open. All marks of both values pass to the
 * result, those of parts included, except that a comparison of null with non-null takes only the marks of the wholes.
 */
export function equal(a: Value, b: Value): Value {
  if (!a.containsMarks && !b.containsMarks) return truthValue(a.equals(b));
  const [x, left] = unmarkDeep(a);
  const [y, right] = unmarkDeep(b);
  const marks = a.isNull === b.isNull ? left.union(right) : a.marks.union(b.marks);
  const result = equalPayloads(Value.payload(x), x.type, Value.payload(y), y.type);
  return truthValue(result).withMarks(marks);
}

/** The opposite of {@link equal}. */
export function notEqual(a: Value, b: Value): Value {
  return not(equal(a, b));
}

/** Logical inversion of a bool; unknown of unknown. Throws `CTY_WRONG_TYPE`, `CTY_NULL`. */
export function not(value: Value): Value {
  return withMarks1(value, (x) => {
    const payload = operand(x, "bool");
    return payload instanceof Unknown ? UNKNOWN_TRUTH : Value.bool(payload !== true);
  });
}

/** Conjunction: false if one operand is false, regardless of the other. Throws as {@link not}. */
export function and(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => {
    const left = operand(x, "bool");
    const right = operand(y, "bool");
    if (left === false || right === false) return Value.false;
    return left === true && right === true ? Value.true : UNKNOWN_TRUTH;
  });
}

/** Disjunction: true if one operand is true, regardless of the other. Throws as {@link not}. */
export function or(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => {
    const left = operand(x, "bool");
    const right = operand(y, "bool");
    if (left === true || right === true) return Value.true;
    return left === false && right === false ? Value.false : UNKNOWN_TRUTH;
  });
}

/**
 * Whether the first number is smaller. Bounds of unknown numbers may decide it. Throws `CTY_WRONG_TYPE`, `CTY_NULL`.
 */
export function lessThan(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => truthValue(isLess(x, y)));
}

/** Whether the first number is greater; see {@link lessThan}. */
export function greaterThan(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => truthValue(isLess(y, x)));
}

/** {@link lessThan} or {@link equal}. */
export function lessThanOrEqual(a: Value, b: Value): Value {
  return or(lessThan(a, b), equal(a, b));
}

/** {@link greaterThan} or {@link equal}. */
export function greaterThanOrEqual(a: Value, b: Value): Value {
  return or(greaterThan(a, b), equal(a, b));
}

function isLess(a: Value, b: Value): boolean | undefined {
  const left = operand(a, "number");
  const right = operand(b, "number");
  if (isNumberPayload(left) && isNumberPayload(right)) return compareNumbers(left, right) < 0;
  if (compareNumbers(greatest(left), least(right)) < 0) return true;
  if (compareNumbers(least(left), greatest(right)) > 0) return false;
  return undefined;
}

function least(payload: Payload): NumberPayload {
  if (isNumberPayload(payload)) return payload;
  const bound = payload instanceof Unknown ? payload.refinement?.min : undefined;
  return bound?.value ?? BigFloat.negativeInfinity;
}

function greatest(payload: Payload): NumberPayload {
  if (isNumberPayload(payload)) return payload;
  const bound = payload instanceof Unknown ? payload.refinement?.max : undefined;
  return bound?.value ?? BigFloat.positiveInfinity;
}
