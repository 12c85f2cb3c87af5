import { type Binary, bitLength, powerOfFive } from "./binary.ts";

/**
 * An unsigned decimal: `0.DIGITS * 10 ** point`. The digits have no leading and no trailing zero;
 * zero has no digits at all. A number of finite binary digits always has such a form, so conversion
 * from {@link Binary} is exact.
 */
export interface Decimal {
  readonly digits: string;
  readonly point: number;
}

const ZERO: Decimal = { digits: "", point: 0 };

function trimmed(digits: string, point: number): Decimal {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end -= 1;
  return end === 0 ? ZERO : { digits: digits.slice(0, end), point };
}

/** The exact decimal form of a positive binary number. */
export function binaryToDecimal({ mantissa, exponent }: Binary): Decimal {
  if (mantissa === 0n) return ZERO;
  if (exponent >= 0) {
    const digits = (mantissa << BigInt(exponent)).toString();
    return trimmed(digits, digits.length);
  }
  // m / 2^k = m * 5^k / 10^k
  const digits = (mantissa * powerOfFive(-exponent)).toString();
  return trimmed(digits, digits.length + exponent);
}

function roundDown(d: Decimal, count: number): Decimal {
  if (count < 0 || count >= d.digits.length) return d;
  return trimmed(d.digits.slice(0, count), d.point);
}

function roundUp(d: Decimal, count: number): Decimal {
  if (count < 0 || count >= d.digits.length) return d;
  let end = count;
  while (end > 0 && d.digits.charCodeAt(end - 1) === 57) end -= 1;
  if (end === 0) return { digits: "1", point: d.point + 1 };
  const last = String.fromCharCode(d.digits.charCodeAt(end - 1) + 1);
  return { digits: d.digits.slice(0, end - 1) + last, point: d.point };
}

/** At most `count` digits, rounded to nearest and ties to even; a negative count changes nothing. */
export function roundDecimal(d: Decimal, count: number): Decimal {
  if (count < 0 || count >= d.digits.length) return d;
  const next = d.digits.charCodeAt(count) - 48;
  let up = next >= 5;
  if (next === 5 && count + 1 === d.digits.length) {
    up = count > 0 && (d.digits.charCodeAt(count - 1) & 1) === 1;
  }
  return up ? roundUp(d, count) : roundDown(d, count);
}

/**
 * The shortest decimal that identifies `value` among the numbers of `precision` mantissa bits.
 *
 * Every decimal strictly between `value - ulp/2` and `value + ulp/2` reads back as `value`; the two ends do so
 * only where the mantissa is even (ties go to even). The digits of the exact value are walked until cutting
 * them off, or cutting and adding one, lands in that interval. The interval is symmetrical even where `value` is
 * a power of two and its lower neighbour is nearer: the reference does it so, and texts must agree with it.
 */
export function shortestDecimal(value: Binary, precision: number): Decimal {
  const exact = binaryToDecimal(value);
  if (exact.digits === "") return exact;
  const shift = precision + 1 - bitLength(value.mantissa);
  // One bit more than the precision: the last bit is worth half a unit in the last place.
  const scaled = shift >= 0 ? value.mantissa << BigInt(shift) : value.mantissa >> BigInt(-shift);
  const exponent = value.exponent - shift;
  const lower = binaryToDecimal({ mantissa: scaled - 1n, exponent }).digits;
  const upper = binaryToDecimal({ mantissa: scaled + 1n, exponent }).digits;
  const inclusive = (scaled & 2n) === 0n;
  const { digits } = exact;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digits.charCodeAt(i);
    const low = i < lower.length ? lower.charCodeAt(i) : 48;
    const high = i < upper.length ? upper.charCodeAt(i) : 48;
    const down = low !== digit || (inclusive && i + 1 === lower.length);
    const up = digit !== high && (inclusive || digit + 1 < high || i + 1 < upper.length);
    if (down && up) return roundDecimal(exact, i + 1);
    if (down) return roundDown(exact, i + 1);
    if (up) return roundUp(exact, i + 1);
  }
  return exact;
}

/** Digits around a point and no exponent, with exactly `places` digits behind the point. */
export function fixedText(d: Decimal, places: number): string {
  const { digits, point } = d;
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, "0") : "0";
  if (places <= 0) return whole;
  const fraction =
    (point < 0 ? "0".repeat(Math.min(-point, places)) : "") + digits.slice(Math.max(point, 0));
  return `${whole}.${fraction.slice(0, places).padEnd(places, "0")}`;
}

/** One digit, `places` digits behind the point, and a signed exponent of at least two digits. */
export function exponentText(d: Decimal, places: number, letter: "e" | "E"): string {
  const first = d.digits === "" ? "0" : d.digits.charAt(0);
  const fraction = places > 0 ? `.${d.digits.slice(1, places + 1).padEnd(places, "0")}` : "";
  const exponent = d.digits === "" ? 0 : d.point - 1;
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${first}${fraction}${letter}${exponent < 0 ? "-" : "+"}${size}`;
}
