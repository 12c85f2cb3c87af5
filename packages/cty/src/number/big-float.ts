import { CtyError } from "../errors.ts";
import { type Binary, bitLength, canonical, roundBinary } from "./binary.ts";
import {
  binaryToDecimal,
  type Decimal,
  exponentText,
  fixedText,
  roundDecimal,
  shortestDecimal,
} from "./decimal.ts";
import { divideRounded, literalToBinary, parseLiteral } from "./parse.ts";

/** Mantissa bits of numbers that are read from text. */
export const PARSE_PRECISION = 512;

/** Mantissa bits of numbers made from 64-bit integers and from doubles. */
export const INTEGER_PRECISION = 64;
export const DOUBLE_PRECISION = 53;

/** Beyond this binary exponent a number is not written out or turned into an integer. */
const MAX_WRITTEN_EXPONENT = 4_000_000;

/** Integers that every double holds exactly. */
const SHORT_INTEGER = /^-?\d{1,15}$/;

const ZERO: Binary = { mantissa: 0n, exponent: 0 };

/** How {@link BigFloat.text} writes a number: plain, with an exponent, or whichever is shorter. */
export type NumberFormat = "f" | "e" | "E" | "g" | "G";

/**
 * An immutable binary floating-point number with its own precision, or an infinity. The sign of zero is kept.
 *
 * Arithmetic rounds to nearest, ties to even, at the larger precision of its operands; there is no NaN, and an
 * operation without a result throws `CTY_NOT_A_NUMBER`. The precision is part of the number: it decides how
 * many digits {@link text} needs to distinguish the number from its neighbours, and how precise a quotient is. Source: the
 * behaviour of Go's `big.Float`, on which the reference value library is built.
 */
export class BigFloat {
  static readonly positiveInfinity = new BigFloat(false, ZERO, 0, true);
  static readonly negativeInfinity = new BigFloat(true, ZERO, 0, true);

  readonly negative: boolean;
  readonly isInfinite: boolean;
  /** Mantissa bits that results of arithmetic with this number keep; 0 for the two constants of infinity. */
  readonly precision: number;
  /** The size, if it is a safe integer; what the magnitude is then made from when it is needed. */
  readonly #integer: number | undefined;
  #magnitude: Binary | undefined;
  #shortest: string | undefined;

  private constructor(
    negative: boolean,
    magnitude: Binary | number,
    precision: number,
    infinite: boolean,
  ) {
    this.negative = negative;
    this.#integer = typeof magnitude === "number" ? magnitude : undefined;
    this.#magnitude = typeof magnitude === "number" ? undefined : magnitude;
    this.precision = precision;
    this.isInfinite = infinite;
  }

  /** Odd mantissa and its exponent; both zero for zero and infinities. */
  get magnitude(): Binary {
    this.#magnitude ??= doubleToBinary(this.#integer ?? 0);
    return this.#magnitude;
  }

  /** The exact integer, with a precision of 64 bits or as many as it needs. */
  static fromBigInt(value: bigint): BigFloat {
    if (value === 0n) return new BigFloat(false, ZERO, INTEGER_PRECISION, false);
    const size = value < 0n ? -value : value;
    const precision = Math.max(INTEGER_PRECISION, bitLength(size));
    return new BigFloat(value < 0n, canonical(size, 0), precision, false);
  }

  /** The exact double, with a precision of 53 bits. Throws `CTY_NOT_A_NUMBER` for NaN. */
  static fromNumber(value: number): BigFloat {
    if (Number.isNaN(value)) throw new CtyError("CTY_NOT_A_NUMBER", "NaN is not a number");
    const negative = value < 0 || Object.is(value, -0);
    if (!Number.isFinite(value)) return new BigFloat(negative, ZERO, DOUBLE_PRECISION, true);
    return new BigFloat(negative, doubleToBinary(Math.abs(value)), DOUBLE_PRECISION, false);
  }

  /**
   * Reads a decimal text, rounding to `precision` bits. Undefined when the text is not a number. Throws
   * `CTY_NUMBER_RANGE` for an exponent beyond one hundred thousand.
   *
   * @param precision mantissa bits. @default 512
   */
  static parse(text: string, precision: number = PARSE_PRECISION): BigFloat | undefined {
    if (precision >= DOUBLE_PRECISION && SHORT_INTEGER.test(text)) {
      const negative = text.startsWith("-");
      return new BigFloat(negative, Math.abs(Number(text)), precision, false);
    }
    const literal = parseLiteral(text);
    if (literal === undefined) return undefined;
    if (literal === "range") {
      throw new CtyError("CTY_NUMBER_RANGE", "the exponent of the number is too large");
    }
    if (literal.infinite) return new BigFloat(literal.negative, ZERO, precision, true);
    const magnitude = literal.digits === "" ? ZERO : literalToBinary(literal, precision);
    return new BigFloat(literal.negative, magnitude, precision, false);
  }

  /** A finite number from its parts, rounded to `precision`. */
  static fromParts(negative: boolean, magnitude: Binary, precision: number): BigFloat {
    if (magnitude.mantissa === 0n) return new BigFloat(negative, ZERO, precision, false);
    const { mantissa, exponent } = magnitude;
    return new BigFloat(
      negative,
      roundBinary(mantissa, exponent, precision, false),
      precision,
      false,
    );
  }

  get isZero(): boolean {
    if (this.#integer !== undefined) return this.#integer === 0;
    return !this.isInfinite && this.magnitude.mantissa === 0n;
  }

  /** Whether the number is finite and has no fractional part. */
  get isInteger(): boolean {
    return this.#integer !== undefined || (!this.isInfinite && this.magnitude.exponent >= 0);
  }

  /** -1, 0 or 1. Both zeros are 0. */
  get sign(): -1 | 0 | 1 {
    if (this.isZero) return 0;
    return this.negative ? -1 : 1;
  }

  /** The fewest mantissa bits that hold this number exactly; 0 for zero and infinities. */
  get minPrecision(): number {
    return bitLength(this.magnitude.mantissa);
  }

  /** The same number at another precision, rounded where it has to be. */
  withPrecision(precision: number): BigFloat {
    if (precision === this.precision) return this;
    if (this.isInfinite || this.isZero) {
      return new BigFloat(this.negative, ZERO, precision, this.isInfinite);
    }
    return BigFloat.fromParts(this.negative, this.magnitude, precision);
  }

  negate(): BigFloat {
    return new BigFloat(!this.negative, this.magnitude, this.precision, this.isInfinite);
  }

  absolute(): BigFloat {
    return this.negative ? this.negate() : this;
  }

  /** Numeric order: negative, zero or positive. Precision and the sign of zero play no part. */
  compare(other: BigFloat): number {
    const sign = this.sign;
    if (sign !== other.sign) return sign - other.sign;
    if (sign === 0) return 0;
    if (this.isInfinite || other.isInfinite) {
      const order = Number(this.isInfinite) - Number(other.isInfinite);
      return sign < 0 ? 0 - order : order;
    }
    const order = compareMagnitudes(this.magnitude, other.magnitude);
    return sign < 0 ? 0 - order : order;
  }

  /** The sum, at the larger precision. Throws `CTY_NOT_A_NUMBER` for infinities of opposite signs. */
  add(other: BigFloat): BigFloat {
    const precision = Math.max(this.precision, other.precision);
    if (this.isInfinite || other.isInfinite) {
      if (this.isInfinite && other.isInfinite && this.negative !== other.negative) {
        throw new CtyError("CTY_NOT_A_NUMBER", "the sum of opposite infinities is not a number");
      }
      return (this.isInfinite ? this : other).withPrecision(precision);
    }
    if (this.isZero && other.isZero) {
      return new BigFloat(this.negative && other.negative, ZERO, precision, false);
    }
    if (other.isZero) return this.withPrecision(precision);
    if (this.isZero) return other.withPrecision(precision);
    return addFinite(this, other, precision);
  }

  /** The difference, as the sum with the negated number. */
  subtract(other: BigFloat): BigFloat {
    return this.add(other.negate());
  }

  /** The product rounded to `precision`. Throws `CTY_NOT_A_NUMBER` for zero times infinity. */
  multiply(
    other: BigFloat,
    precision: number = Math.max(this.precision, other.precision),
  ): BigFloat {
    const negative = this.negative !== other.negative;
    if (this.isInfinite || other.isInfinite) {
      if (this.isZero || other.isZero) {
        throw new CtyError("CTY_NOT_A_NUMBER", "zero times infinity is not a number");
      }
      return new BigFloat(negative, ZERO, precision, true);
    }
    const magnitude = {
      mantissa: this.magnitude.mantissa * other.magnitude.mantissa,
      exponent: this.magnitude.exponent + other.magnitude.exponent,
    };
    return BigFloat.fromParts(negative, magnitude, precision);
  }

  /**
   * The quotient, at the larger precision. Division by zero gives an infinity; zero by zero and infinity by infinity
   * throw `CTY_NOT_A_NUMBER`.
   */
  divide(other: BigFloat): BigFloat {
    const precision = Math.max(this.precision, other.precision);
    const negative = this.negative !== other.negative;
    if ((this.isZero && other.isZero) || (this.isInfinite && other.isInfinite)) {
      throw new CtyError(
        "CTY_NOT_A_NUMBER",
        "the quotient of two zeros or two infinities is not a number",
      );
    }
    if (this.isZero || other.isInfinite) return new BigFloat(negative, ZERO, precision, false);
    if (other.isZero || this.isInfinite) return new BigFloat(negative, ZERO, precision, true);
    const magnitude = divideRounded(this.magnitude, other.magnitude, precision);
    return new BigFloat(negative, magnitude, precision, false);
  }

  /** The integer part, towards zero. Throws `CTY_NUMBER_RANGE` for infinities and numbers of absurd size. */
  truncate(): bigint {
    if (this.isInfinite) throw new CtyError("CTY_NUMBER_RANGE", "infinity is not an integer");
    const { mantissa, exponent } = this.magnitude;
    if (exponent > MAX_WRITTEN_EXPONENT) {
      throw new CtyError("CTY_NUMBER_RANGE", "the number is too large to be written out");
    }
    const size = exponent >= 0 ? mantissa << BigInt(exponent) : mantissa >> BigInt(-exponent);
    return this.negative ? -size : size;
  }

  /** The nearest double; infinite where the number is beyond its range. */
  toNumber(): number {
    if (this.isInfinite) return this.negative ? -Infinity : Infinity;
    const size = this.#integer ?? binaryToDouble(this.magnitude);
    return this.negative ? -size : size;
  }

  /** The double that is exactly this number, or undefined where there is none. */
  toExactNumber(): number | undefined {
    const nearest = this.toNumber();
    if (this.isInfinite || this.isZero || this.#integer !== undefined) return nearest;
    if (!Number.isFinite(nearest) || nearest === 0) return undefined;
    const back = doubleToBinary(Math.abs(nearest));
    const same =
      back.exponent === this.magnitude.exponent && back.mantissa === this.magnitude.mantissa;
    return same ? nearest : undefined;
  }

  /**
   * The number in decimal. Without `digits` as few as identify it at its precision; otherwise `digits` behind the
   * point (`f`, `e`) or in all (`g`). Infinities are `+Inf` and `-Inf`. Throws `CTY_NUMBER_RANGE` where the
   * number is of absurd size.
   */
  text(format: NumberFormat = "f", digits?: number): string {
    if (this.isInfinite) return this.negative ? "-Inf" : "+Inf";
    if (this.#integer !== undefined && format === "f" && digits === undefined) {
      return (this.negative ? "-" : "") + String(this.#integer);
    }
    if (Math.abs(this.magnitude.exponent) > MAX_WRITTEN_EXPONENT) {
      throw new CtyError(
        "CTY_NUMBER_RANGE",
        "the number is too large or too small to be written out",
      );
    }
    const cacheable = format === "f" && digits === undefined;
    if (cacheable && this.#shortest !== undefined) return this.#shortest;
    const text =
      (this.negative ? "-" : "") + formatMagnitude(this.magnitude, this.precision, format, digits);
    if (cacheable) this.#shortest = text;
    return text;
  }

  /** The shortest plain text, as {@link text} gives it. */
  toString(): string {
    return this.text();
  }
}

function compareMagnitudes(a: Binary, b: Binary): number {
  const byLength = bitLength(a.mantissa) + a.exponent - (bitLength(b.mantissa) + b.exponent);
  if (byLength !== 0) return byLength;
  const shift = a.exponent - b.exponent;
  const left = shift > 0 ? a.mantissa << BigInt(shift) : a.mantissa;
  const right = shift < 0 ? b.mantissa << BigInt(-shift) : b.mantissa;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Adds two finite non-zero numbers. Where one is so much smaller that it can only tip a rounding, it is replaced
 * by a single bit far below the last place, which keeps the cost independent of the distance of the exponents.
 */
function addFinite(a: BigFloat, b: BigFloat, precision: number): BigFloat {
  const [large, small] = compareMagnitudes(a.magnitude, b.magnitude) >= 0 ? [a, b] : [b, a];
  const top = large.magnitude.exponent + bitLength(large.magnitude.mantissa);
  const floor = Math.min(large.magnitude.exponent, top - precision) - 4;
  const smallTop = small.magnitude.exponent + bitLength(small.magnitude.mantissa);
  const low = smallTop < floor ? { mantissa: 1n, exponent: floor - 1 } : small.magnitude;
  const exponent = Math.min(large.magnitude.exponent, low.exponent);
  const x = large.magnitude.mantissa << BigInt(large.magnitude.exponent - exponent);
  const y = low.mantissa << BigInt(low.exponent - exponent);
  const mantissa = large.negative === small.negative ? x + y : x - y;
  const negative = mantissa === 0n ? false : large.negative;
  return BigFloat.fromParts(negative, { mantissa, exponent }, precision);
}

const scratch = new DataView(new ArrayBuffer(8));

function doubleToBinary(size: number): Binary {
  if (size === 0) return ZERO;
  if (Number.isSafeInteger(size)) return canonical(BigInt(size), 0);
  scratch.setFloat64(0, size);
  const bits = scratch.getBigUint64(0);
  const biased = Number(bits >> 52n);
  const fraction = bits & 0xfffffffffffffn;
  if (biased === 0) return canonical(fraction, -1074);
  return canonical(fraction | (1n << 52n), biased - 1075);
}

function binaryToDouble({ mantissa, exponent }: Binary): number {
  if (mantissa === 0n) return 0;
  const top = bitLength(mantissa) + exponent;
  if (top > 1024) return Infinity;
  if (top < -1074) return 0;
  // Below 2^-1022 a double has fewer bits; 2^-1075 still rounds to the smallest one or to zero.
  const precision = Math.min(DOUBLE_PRECISION, top + 1074);
  if (precision <= 0) return precision === 0 && mantissa > 1n ? Number.MIN_VALUE : 0;
  const rounded = roundBinary(mantissa, exponent, precision, false);
  const value = Number(rounded.mantissa);
  // Two steps, because 2 ** -1074 * value is exact but 2 ** (exponent) may not be a double by itself.
  const first = Math.max(-1000, Math.min(900, rounded.exponent));
  return value * 2 ** first * 2 ** (rounded.exponent - first);
}

function formatMagnitude(
  magnitude: Binary,
  precision: number,
  format: NumberFormat,
  digits: number | undefined,
): string {
  if (digits === undefined) {
    const d = shortestDecimal(magnitude, precision);
    if (format === "f") return fixedText(d, Math.max(d.digits.length - d.point, 0));
    if (format === "e" || format === "E") return exponentText(d, d.digits.length - 1, format);
    return generalText(d, d.digits.length, 6, format);
  }
  const exact = binaryToDecimal(magnitude);
  if (format === "f") return fixedText(roundDecimal(exact, exact.point + digits), digits);
  if (format === "e" || format === "E")
    return exponentText(roundDecimal(exact, 1 + digits), digits, format);
  const count = digits === 0 ? 1 : digits;
  const d = roundDecimal(exact, count);
  const threshold = count > d.digits.length && d.digits.length >= d.point ? d.digits.length : count;
  return generalText(d, count, threshold, format);
}

/** The `g` form: an exponent when it is below -4 or not below `threshold`, plain otherwise, no trailing zeros. */
function generalText(d: Decimal, count: number, threshold: number, format: "g" | "G"): string {
  const exponent = d.point - 1;
  if (exponent < -4 || exponent >= threshold) {
    return exponentText(d, Math.min(count, d.digits.length) - 1, format === "g" ? "e" : "E");
  }
  const shown = count > d.point ? d.digits.length : count;
  return fixedText(d, Math.max(shown - d.point, 0));
}
