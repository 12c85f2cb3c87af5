import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { number as anyNumber } from "../testing/vectors/arbitraries.ts";
import { build } from "../testing/vectors/notation.ts";
import { BigFloat } from "./big-float.ts";
import {
  addNumbers,
  compactNumber,
  compareNumbers,
  doubleToPayload,
  equalNumbers,
  expandNumber,
  moduloNumbers,
  multiplyNumbers,
  type NumberPayload,
  negateNumber,
  numberText,
  subtractNumbers,
} from "./number-payload.ts";

/** Numbers that have a plain form: safe integers and doubles with a fraction. */
const plain = fc
  .oneof(
    fc.maxSafeInteger(),
    fc.integer({ min: -9, max: 9 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc
      .tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: 1, max: 1100 }))
      .map(([m, e]) => m * 2 ** -e),
  )
  .map((n) =>
    compactNumber(
      Number.isSafeInteger(n) ? BigFloat.fromBigInt(BigInt(n)) : BigFloat.fromNumber(n),
    ),
  );

const any = anyNumber.map((notation) => compactNumber(build(notation).asBigFloat()));

/** Same number, same precision, same form. */
function expectSame(fast: NumberPayload, exact: BigFloat): void {
  const wide = expandNumber(fast);
  expect([wide.text(), wide.precision]).toEqual([exact.text(), exact.precision]);
  expect(typeof fast).toBe(typeof compactNumber(exact));
}

describe("plain numbers behave like the numbers they stand for", () => {
  it("in arithmetic", () => {
    fc.assert(
      fc.property(plain, plain, (a, b) => {
        const [x, y] = [expandNumber(a), expandNumber(b)];
        expectSame(addNumbers(a, b), x.add(y));
        expectSame(subtractNumbers(a, b), x.subtract(y));
        expectSame(negateNumber(a), x.negate());
        const product = x.multiply(y, 512);
        expectSame(
          multiplyNumbers(a, b),
          product.withPrecision(Math.max(x.precision, y.precision, product.minPrecision)),
        );
      }),
    );
  });

  it("as text", () => {
    fc.assert(
      fc.property(plain, (a) => {
        expect(numberText(a)).toBe(expandNumber(a).text());
      }),
      { numRuns: Math.ceil(2000 * Number(process.env.STACKWRIGHT_RUNS ?? 1)) },
    );
  });

  it("in comparison", () => {
    fc.assert(
      fc.property(any, any, (a, b) => {
        const [x, y] = [expandNumber(a), expandNumber(b)];
        expect(Math.sign(compareNumbers(a, b))).toBe(Math.sign(x.compare(y)));
        // Fractions are equal when their texts are, integers when they are the same integer.
        const same = x.isInteger && y.isInteger ? x.compare(y) === 0 : x.text() === y.text();
        expect(equalNumbers(a, b)).toBe(same);
      }),
    );
  });
});

/**
 * The lower neighbour of a power of two is nearer than the upper one, which the reference's shortest text does not take
 * into account; there the text may be that of the neighbour.
 */
function isPowerOfTwo(a: NumberPayload): boolean {
  return expandNumber(a).minPrecision === 1;
}

it("the shortest text reads back as the same number", () => {
  fc.assert(
    fc.property(any, (a) => {
      fc.pre(!isPowerOfTwo(a));
      const exact = expandNumber(a);
      const back = BigFloat.parse(exact.text(), Math.max(1, exact.precision));
      expect(back?.compare(exact)).toBe(0);
    }),
  );
});

it("integer arithmetic agrees with bigint", () => {
  const integer = fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n });
  fc.assert(
    fc.property(integer, integer, (a, b) => {
      // Read from text they have 512 bits, in which all of these results are exact.
      const [x, y] = [a, b].map((n) => expandNumber(BigFloat.parse(n.toString()) ?? 0));
      if (x === undefined || y === undefined) return;
      expect(x.add(y).truncate()).toBe(a + b);
      expect(expandNumber(multiplyNumbers(x, y)).truncate()).toBe(a * b);
      if (b !== 0n) expect(expandNumber(moduloNumbers(x, y)).truncate()).toBe(a % b);
    }),
  );
});

it("doubles survive the way through their decimal text", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
      fc.pre(!isPowerOfTwo(doubleToPayload(double)));
      expect(BigFloat.parse(numberText(doubleToPayload(double)))?.toNumber()).toBe(double);
    }),
  );
});
