import { BigFloat, DOUBLE_PRECISION, INTEGER_PRECISION, PARSE_PRECISION } from "./big-float.ts";

/**
 * How a number is kept inside a value.
 *
 * A JavaScript number stands for exactly what the reference makes of a 64-bit integer or of a double: a safe integer
 * has 64 bits of precision, a fraction has 53. Everything else is a {@link BigFloat}: integers beyond 2^53, numbers
 * read from text (512 bits), infinities, negative zero, whole numbers that came as doubles. Invariant: a number that
 * may be a plain one always is ({@link compactNumber}), so a plain integer and an equal BigFloat differ in precision.
 */
export type NumberPayload = number | BigFloat;

/** The payload of a finite number, plain where the invariant allows it. */
export function compactNumber(value: BigFloat): NumberPayload {
  if (value.isInfinite || (value.isZero && value.negative)) return value;
  if (value.precision === INTEGER_PRECISION) {
    if (!value.isInteger) return value;
    const exact = value.toNumber();
    return Number.isSafeInteger(exact) ? exact : value;
  }
  if (value.precision === DOUBLE_PRECISION && !value.isInteger) {
    return value.toExactNumber() ?? value;
  }
  return value;
}

/** The number with its precision spelled out. */
export function expandNumber(value: NumberPayload): BigFloat {
  if (typeof value !== "number") return value;
  return Number.isInteger(value) ? BigFloat.fromBigInt(BigInt(value)) : BigFloat.fromNumber(value);
}

/** A JavaScript number as the reference takes it: a safe integer as an integer, anything else as a double. */
export function numberToPayload(value: number): NumberPayload {
  if (Number.isFinite(value) && !Object.is(value, -0)) {
    if (Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
  }
  return BigFloat.fromNumber(value);
}

/** A double from a format that has doubles: 53 bits of precision even where it is whole. */
export function doubleToPayload(value: number): NumberPayload {
  return Number.isInteger(value) ? BigFloat.fromNumber(value) : numberToPayload(value);
}

export function bigIntToPayload(value: bigint): NumberPayload {
  return compactNumber(BigFloat.fromBigInt(value));
}

/** Undefined where the text is not a number. May throw `CTY_NUMBER_RANGE`. */
export function parseNumberPayload(text: string): NumberPayload | undefined {
  return BigFloat.parse(text, PARSE_PRECISION);
}

/** The number as a safe JavaScript integer, or undefined where it is none. */
export function toSafeInteger(value: NumberPayload): number | undefined {
  const candidate = typeof value === "number" || !value.isInteger ? value : value.toNumber();
  return Number.isSafeInteger(candidate) ? Number(candidate) + 0 : undefined;
}

/** Numeric order. */
export function compareNumbers(a: NumberPayload, b: NumberPayload): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return expandNumber(a).compare(expandNumber(b));
}

/**
 * Equality as the value system defines it. Integers are equal when they are the same integer. Fractions are equal
 * when their shortest texts are: a fraction that came as a double is then equal to the same digits read from text,
 * although the two differ far behind the point. The two zeros are equal.
 */
export function equalNumbers(a: NumberPayload, b: NumberPayload): boolean {
  if (typeof a === "number" && typeof b === "number") return a === b;
  const x = expandNumber(a);
  const y = expandNumber(b);
  if (x.sign !== y.sign) return false;
  if (x.isInteger !== y.isInteger) return false;
  if (x.isInteger || x.precision === y.precision) {
    return (
      x.isInfinite === y.isInfinite &&
      x.magnitude.exponent === y.magnitude.exponent &&
      x.magnitude.mantissa === y.magnitude.mantissa
    );
  }
  return x.text() === y.text();
}

export function addNumbers(a: NumberPayload, b: NumberPayload): NumberPayload {
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
    const sum = Number(a) + Number(b);
    if (Number.isSafeInteger(sum)) return sum;
  }
  return compactNumber(expandNumber(a).add(expandNumber(b)));
}

export function negateNumber(value: NumberPayload): NumberPayload {
  if (typeof value === "number" && value !== 0) return -value;
  return compactNumber(expandNumber(value).negate());
}

export function absoluteNumber(value: NumberPayload): NumberPayload {
  if (typeof value === "number") return Math.abs(value);
  return compactNumber(value.absolute());
}

/** `a + (-b)`, which is how the reference subtracts. */
export function subtractNumbers(a: NumberPayload, b: NumberPayload): NumberPayload {
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
    const difference = Number(a) - Number(b);
    if (Number.isSafeInteger(difference)) return difference;
  }
  return compactNumber(expandNumber(a).subtract(expandNumber(b)));
}

/**
 * The product, computed at 512 bits and then kept at the larger precision of the operands, or at as many bits as the
 * product needs.
 */
export function multiplyNumbers(a: NumberPayload, b: NumberPayload): NumberPayload {
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
    const product = Number(a) * Number(b);
    if (Number.isSafeInteger(product) && !Object.is(product, -0)) return product;
  }
  const x = expandNumber(a);
  const y = expandNumber(b);
  const product = x.multiply(y, PARSE_PRECISION);
  const precision = Math.max(x.precision, y.precision, product.minPrecision);
  return compactNumber(product.withPrecision(precision));
}

export function divideNumbers(a: NumberPayload, b: NumberPayload): NumberPayload {
  return compactNumber(expandNumber(a).divide(expandNumber(b)));
}

/**
 * The remainder of the division truncated towards zero; `x % 0` is `x`, and with an infinite operand the result is an
 * infinity. The steps round as the reference's do, at the precision of the dividend.
 */
export function moduloNumbers(a: NumberPayload, b: NumberPayload): NumberPayload {
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) {
    const remainder = Number(b) === 0 ? Number(a) : Number(a) % Number(b);
    if (!Object.is(remainder, -0)) return remainder;
  }
  const x = expandNumber(a);
  const y = expandNumber(b);
  if (x.isInfinite || y.isInfinite) return multiplyNumbers(a, b);
  if (y.isZero) return a;
  const quotient = x.divide(y).truncate();
  const whole = BigFloat.fromBigInt(quotient).withPrecision(x.precision);
  const work = y.multiply(whole, x.precision);
  return compactNumber(x.subtract(work).withPrecision(x.precision));
}

/** Shortest plain decimal text, without an exponent. */
export function numberText(value: NumberPayload): string {
  if (typeof value !== "number") return value.text("f");
  if (Number.isInteger(value)) return String(value);
  return fractionText(value);
}

/**
 * The platform's shortest text of a double agrees with the reference's except for powers of two (whose lower
 * neighbour is nearer, which the reference does not use) and for subnormal doubles.
 */
function fractionText(value: number): string {
  const text = String(value);
  if (Math.abs(value) < 2.3e-308 || isPowerOfTwo(value))
    return BigFloat.fromNumber(value).text("f");
  const e = text.indexOf("e");
  if (e < 0) return text;
  // A fraction has a negative exponent here: a double of 1e21 or more is whole.
  const negative = text.startsWith("-");
  const digits = text.slice(negative ? 1 : 0, e).replace(".", "");
  const zeros = -Number(text.slice(e + 1)) - 1;
  return `${negative ? "-" : ""}0.${"0".repeat(zeros)}${digits}`;
}

function isPowerOfTwo(value: number): boolean {
  const size = Math.abs(value);
  return size === 2 ** Math.round(Math.log2(size));
}

/** The text that orders and buckets numbers in sets: ten significant digits, with an exponent when it is shorter. */
export function numberHashText(value: NumberPayload): string {
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e10) {
    return String(value);
  }
  return expandNumber(value).text("g", 10);
}
