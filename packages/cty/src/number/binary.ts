/** An unsigned binary fraction: `mantissa * 2 ** exponent`. Canonical when the mantissa is odd. */
export interface Binary {
  readonly mantissa: bigint;
  readonly exponent: number;
}

/** Number of bits of a non-negative integer; 0 for zero. */
export function bitLength(value: bigint): number {
  if (value <= 0xffffffffn) return 32 - Math.clz32(Number(value));
  const hex = value.toString(16);
  return (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex.charAt(0), 16)));
}

/** Number of zero bits below the lowest set bit of a positive integer. */
function trailingZeros(value: bigint): number {
  let zeros = 0;
  let rest = value;
  let low = BigInt.asUintN(32, rest);
  while (low === 0n) {
    zeros += 32;
    rest >>= 32n;
    low = BigInt.asUintN(32, rest);
  }
  const word = Number(low);
  return zeros + (31 - Math.clz32(word & -word));
}

/** The same number with an odd mantissa. The mantissa must be positive. */
export function canonical(mantissa: bigint, exponent: number): Binary {
  const zeros = trailingZeros(mantissa);
  if (zeros === 0) return { mantissa, exponent };
  return { mantissa: mantissa >> BigInt(zeros), exponent: exponent + zeros };
}

/**
 * Rounds a positive number to `precision` mantissa bits, to nearest and ties to even.
 * `sticky` says that the exact number is a little larger than the given one (below its last bit).
 */
export function roundBinary(
  mantissa: bigint,
  exponent: number,
  precision: number,
  sticky: boolean,
): Binary {
  const drop = bitLength(mantissa) - precision;
  if (drop <= 0) return canonical(mantissa, exponent);
  const shift = BigInt(drop);
  let kept = mantissa >> shift;
  const half = 1n << BigInt(drop - 1);
  const rest = mantissa - (kept << shift);
  if (rest > half || (rest === half && (sticky || (kept & 1n) === 1n))) kept += 1n;
  return canonical(kept, exponent + drop);
}

/** `5 ** power`. */
export function powerOfFive(power: number): bigint {
  return 5n ** BigInt(power);
}
