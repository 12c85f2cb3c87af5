import { type Binary, bitLength, powerOfFive, roundBinary } from "./binary.ts";

/** What a text says before it is rounded: sign, decimal digits as an integer, and the two exponents. */
interface DecimalLiteral {
  readonly negative: boolean;
  readonly infinite: boolean;
  /** All digits, the point left out, without leading zeros. */
  readonly digits: string;
  readonly decimalExponent: number;
  readonly binaryExponent: number;
}

const LITERAL = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:([eEpP])([+-]?\d+))?$/;
const INFINITY = /^([+-]?)[iI]nf$/;

/**
 * Largest exponent that is read, in either direction. A text of ten bytes must not cost a hundred million digits
 * the first time it is printed.
 */
const MAX_LITERAL_EXPONENT = 100_000;

/**
 * Reads the number syntax of the reference's decimal parser: optional sign, digits with an optional point, an
 * optional exponent (`e` decimal, `p` binary), or `Inf`/`inf`. Returns undefined for anything else and
 * "range" where the exponent is beyond {@link MAX_LITERAL_EXPONENT}.
 */
export function parseLiteral(text: string): DecimalLiteral | "range" | undefined {
  const match = LITERAL.exec(text);
  if (match === null) {
    const infinity = INFINITY.exec(text);
    if (infinity === null) return undefined;
    return {
      negative: infinity[1] === "-",
      infinite: true,
      digits: "",
      decimalExponent: 0,
      binaryExponent: 0,
    };
  }
  const [, sign, whole = "", fraction = "", bare = "", letter, exponentText] = match;
  const behind = fraction + bare;
  const exponent = exponentText === undefined ? 0 : Number(exponentText);
  const binary = letter === "p" || letter === "P";
  const digits = (whole + behind).replace(/^0+/, "");
  const decimalExponent = (binary ? 0 : exponent) - behind.length;
  if (digits !== "" && !(Math.abs(exponent) <= MAX_LITERAL_EXPONENT)) return "range";
  return {
    negative: sign === "-",
    infinite: false,
    digits,
    decimalExponent,
    binaryExponent: binary ? exponent : 0,
  };
}

/**
 * `5 ** power` with a mantissa of `precision` bits, by repeated squaring in which every product is rounded:
 * to `precision` for the result and to 64 bits more for the squares. Where the power does not fit (beyond 248 for the 576
 * bits of ordinary numbers), the rounding of each step is visible in the last place of a parsed number, and has to
 * happen here too.
 */
function roundedPowerOfFive(power: number, precision: number): Binary {
  const exactPowers = 27;
  if (power * Math.log2(5) <= precision) return { mantissa: powerOfFive(power), exponent: 0 };
  let result: Binary = { mantissa: powerOfFive(exactPowers), exponent: 0 };
  let square: Binary = { mantissa: 5n, exponent: 0 };
  let rest = power - exactPowers;
  while (rest > 0) {
    if (rest % 2 === 1) result = multiplyRounded(result, square, precision);
    square = multiplyRounded(square, square, precision + 64);
    rest = Math.floor(rest / 2);
  }
  return result;
}

function multiplyRounded(a: Binary, b: Binary, precision: number): Binary {
  return roundBinary(a.mantissa * b.mantissa, a.exponent + b.exponent, precision, false);
}

/** The quotient of two positive numbers, correctly rounded to `precision` bits. */
export function divideRounded(x: Binary, y: Binary, precision: number): Binary {
  // Enough bits that the quotient has at least two more than are kept.
  const shift = Math.max(0, precision + 2 - bitLength(x.mantissa) + bitLength(y.mantissa));
  const numerator = x.mantissa << BigInt(shift);
  const quotient = numerator / y.mantissa;
  const exact = quotient * y.mantissa === numerator;
  return roundBinary(quotient, x.exponent - y.exponent - shift, precision, !exact);
}

/**
 * The binary number of a finite, non-zero literal, rounded to `precision` mantissa bits. The decimal digits are
 * taken exactly and scaled by one rounded power of five, which is how the reference reads numbers.
 */
export function literalToBinary(literal: DecimalLiteral, precision: number): Binary {
  const mantissa = BigInt(literal.digits);
  const exponent = literal.binaryExponent + literal.decimalExponent;
  const power = literal.decimalExponent;
  if (power === 0) return roundBinary(mantissa, exponent, precision, false);
  const five = roundedPowerOfFive(Math.abs(power), precision + 64);
  const number: Binary = { mantissa, exponent };
  if (power < 0) return divideRounded(number, five, precision);
  return multiplyRounded(number, five, precision);
}
