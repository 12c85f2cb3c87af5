import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import {
  absoluteNumber,
  addNumbers,
  compareNumbers,
  divideNumbers,
  moduloNumbers,
  multiplyNumbers,
  type NumberPayload,
  negateNumber,
  subtractNumbers,
} from "../number/number-payload.ts";
import { Type } from "../type/type.ts";
import { isNumberPayload, type Payload, Unknown } from "../value/payload.ts";
import { refinedUnknown } from "../value/refine.ts";
import { compactRefinement } from "../value/refinement.ts";
import { unknownNotNull } from "../value/unknown.ts";
import { Value } from "../value/value.ts";
import { operand, withMarks1, withMarks2 } from "./operands.ts";

type Operator = (a: NumberPayload, b: NumberPayload) => NumberPayload;

/**
 * The sum. With an unknown operand an unknown number, within the bounds that follow from the bounds of the operands.
 *
 * This and the other arithmetic functions take numbers, pass marks on, answer an unknown number where an operand
 * is unknown or of an open type, and throw `CTY_WRONG_TYPE` or `CTY_NULL` for other operands.
 */
export function add(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => arithmetic(x, y, addNumbers));
}

/** The difference; see {@link add}. */
export function subtract(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => arithmetic(x, y, subtractNumbers));
}

/** The product; see {@link add}. */
export function multiply(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => arithmetic(x, y, multiplyNumbers));
}

/**
 * The quotient; see {@link add}. Division by zero gives an infinity, so a language that forbids it checks first. Throws
 * `CTY_NOT_A_NUMBER` for zero by zero and infinity by infinity.
 */
export function divide(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => knownArithmetic(x, y, divideNumbers));
}

/** The remainder of the division truncated towards zero; see {@link add}. `x % 0` is `x`. */
export function modulo(a: Value, b: Value): Value {
  return withMarks2(a, b, (x, y) => knownArithmetic(x, y, moduloNumbers));
}

/** The number with its sign changed; see {@link add}. */
export function negate(value: Value): Value {
  return withMarks1(value, (x) => {
    const payload = operand(x, "number");
    if (!isNumberPayload(payload)) return unknownNotNull(Type.number);
    return new Value(Type.number, negateNumber(payload));
  });
}

/** The number without its sign; see {@link add}. */
export function absolute(value: Value): Value {
  return withMarks1(value, (x) => {
    const payload = operand(x, "number");
    if (isNumberPayload(payload)) return new Value(Type.number, absoluteNumber(payload));
    const refinement = payload instanceof Unknown ? payload.refinement : undefined;
    const { min, max } = refinement ?? {};
    const nonNegative = min !== undefined && compareNumbers(min.value, 0) >= 0;
    const zero = { value: 0, inclusive: true };
    return refinedUnknown(Type.number, {
      notNull: true,
      min: nonNegative ? min : zero,
      ...(nonNegative && max !== undefined ? { max } : {}),
    });
  });
}

function knownArithmetic(a: Value, b: Value, run: Operator): Value {
  const left = operand(a, "number");
  const right = operand(b, "number");
  if (!isNumberPayload(left) || !isNumberPayload(right)) return unknownNotNull(Type.number);
  return new Value(Type.number, run(left, right));
}

/** Arithmetic that is monotone in each operand, so that the bounds of the operands bound the result. */
function arithmetic(a: Value, b: Value, run: Operator): Value {
  const left = operand(a, "number");
  const right = operand(b, "number");
  if (isNumberPayload(left) && isNumberPayload(right)) {
    return new Value(Type.number, run(left, right));
  }
  const corners: NumberPayload[] = [];
  for (const x of numberEnds(left)) {
    for (const y of numberEnds(right)) {
      const corner = resultAt(run, x, y);
      if (corner === undefined) return unknownNotNull(Type.number);
      corners.push(corner);
    }
  }
  const lowest = corners.reduce((low, corner) => (compareNumbers(corner, low) < 0 ? corner : low));
  const highest = corners.reduce((high, corner) =>
    compareNumbers(corner, high) > 0 ? corner : high,
  );
  const range = {
    notNull: true,
    min: { value: lowest, inclusive: true },
    max: { value: highest, inclusive: true },
  };
  return refinedUnknown(Type.number, compactRefinement(range) ?? {});
}

/** Least and greatest number the payload can stand for. */
function numberEnds(payload: Payload): readonly [NumberPayload, NumberPayload] {
  if (isNumberPayload(payload)) return [payload, payload];
  const refinement = payload instanceof Unknown ? payload.refinement : undefined;
  return [
    refinement?.min?.value ?? BigFloat.negativeInfinity,
    refinement?.max?.value ?? BigFloat.positiveInfinity,
  ];
}

/** The result at one corner of the ranges; undefined where it is not a number (infinity minus infinity). */
function resultAt(run: Operator, x: NumberPayload, y: NumberPayload): NumberPayload | undefined {
  try {
    return run(x, y);
  } catch (error) {
    if (error instanceof CtyError && error.code === "CTY_NOT_A_NUMBER") return undefined;
    throw error;
  }
}
