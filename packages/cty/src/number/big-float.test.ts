import { describe, expect, it } from "vitest";
import { BigFloat } from "../index.ts";

function parse(text: string): BigFloat {
  const number = BigFloat.parse(text);
  if (number === undefined) throw new TypeError(`not a number: ${text}`);
  return number;
}

const THIRD_512 =
  "0.33333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333335";

describe("reading", () => {
  it.each([
    ["0", "0"],
    ["-0", "-0"],
    ["007", "7"],
    ["+1.50", "1.5"],
    [".5", "0.5"],
    ["5.", "5"],
    ["1e3", "1000"],
    ["1.5E-3", "0.0015"],
    ["1p3", "8"],
    ["0.1", "0.1"],
    ["9007199254740993", "9007199254740993"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["1e30", "1000000000000000000000000000000"],
    ["Inf", "+Inf"],
    ["-inf", "-Inf"],
  ])("%s is written back as %s", (text, shortest) => {
    expect(parse(text).text()).toBe(shortest);
  });

  it.each([
    "",
    " 1",
    "1 ",
    "1,5",
    "0x10",
    "1_000",
    "e5",
    "1e",
    ".",
    "--1",
    "infinity",
    "NaN",
    "１",
  ])("%j is not a number", (text) => {
    expect(BigFloat.parse(text)).toBeUndefined();
  });

  it("refuses exponents that would cost more than they are worth", () => {
    expect(() => BigFloat.parse("1e100001")).toThrow(
      expect.objectContaining({ code: "CTY_NUMBER_RANGE" }),
    );
    expect(parse("1e100000").isInteger).toBe(true);
    expect(parse("0e999999999999").isZero).toBe(true);
  });

  it("rounds to the precision, ties to even", () => {
    // 2^512 + 1 lies between two numbers of 512 bits, and 2^512 has the even mantissa.
    const wide = (2n ** 512n + 1n).toString();
    expect(parse(wide).truncate()).toBe(2n ** 512n);
    expect(parse((2n ** 512n + 3n).toString()).truncate()).toBe(2n ** 512n + 4n);
    expect(BigFloat.fromBigInt(2n ** 512n + 1n).truncate()).toBe(2n ** 512n + 1n);
  });
});

describe("arithmetic", () => {
  it.each([
    ["0.1", "+", "0.2", "0.3"],
    ["1", "-", "1", "0"],
    ["-0", "+", "-0", "-0"],
    ["9007199254740993", "+", "1", "9007199254740994"],
    [
      "12345678901234567890",
      "*",
      "98765432109876543210",
      "1219326311370217952237463801111263526900",
    ],
    ["1", "/", "3", THIRD_512],
    ["1", "/", "0", "+Inf"],
    ["-1", "/", "0", "-Inf"],
    ["1", "/", "Inf", "0"],
    ["Inf", "*", "-2", "-Inf"],
    ["Inf", "+", "1", "+Inf"],
    ["1e400", "+", "1e-400", `1${"0".repeat(400)}`],
  ])("%s %s %s = %s", (a, operator, b, expected) => {
    const [x, y] = [parse(a), parse(b)];
    const results = {
      "+": () => x.add(y),
      "-": () => x.subtract(y),
      "*": () => x.multiply(y),
      "/": () => x.divide(y),
    };
    expect(results[operator as keyof typeof results]().text()).toBe(expected);
  });

  it.each([
    ["Inf", "+", "-Inf"],
    ["0", "*", "Inf"],
    ["0", "/", "0"],
    ["Inf", "/", "-Inf"],
  ])("%s %s %s has no result", (a, operator, b) => {
    const [x, y] = [parse(a), parse(b)];
    const run =
      operator === "+"
        ? () => x.add(y)
        : operator === "*"
          ? () => x.multiply(y)
          : () => x.divide(y);
    expect(run).toThrow(expect.objectContaining({ code: "CTY_NOT_A_NUMBER" }));
  });

  it("keeps the larger precision of the operands", () => {
    const [one, three] = [BigFloat.fromBigInt(1n), BigFloat.fromBigInt(3n)];
    expect(one.divide(three).text()).toBe("0.33333333333333333334");
    expect(one.divide(parse("3")).text()).toBe(THIRD_512);
    expect(BigFloat.fromNumber(0.5).precision).toBe(53);
  });

  it("adds numbers of very different size in the time of a rounding", () => {
    const sum = parse("1e99999").add(parse("1e-99999"));
    expect(sum.compare(parse("1e99999"))).toBe(0);
    expect(sum.magnitude.mantissa.toString(2).length).toBeLessThanOrEqual(512);
  });
});

describe("conversion to doubles", () => {
  it.each([
    ["0.1", 0.1],
    ["1e400", Infinity],
    ["-1e400", -Infinity],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["5e-324", Number.MIN_VALUE],
    ["2.4e-324", 0],
    ["2.5e-324", Number.MIN_VALUE],
    ["2.2250738585072011e-308", 2.225073858507201e-308],
    ["9007199254740993", 9007199254740992],
  ])("%s is nearest to %d", (text, double) => {
    expect(parse(text).toNumber()).toBe(double);
  });

  it("returns whether a double holds the number exactly", () => {
    expect(parse("0.5").toExactNumber()).toBe(0.5);
    expect(parse("0.1").toExactNumber()).toBeUndefined();
    expect(parse("9007199254740993").toExactNumber()).toBeUndefined();
    expect(BigFloat.fromNumber(5e-324).toExactNumber()).toBe(5e-324);
  });
});

describe("formats", () => {
  it.each([
    ["123456.789", "g", 3, "1.23e+05"],
    ["123456.789", "f", 1, "123456.8"],
    ["0.5", "f", 0, "0"],
    ["1.5", "f", 0, "2"],
    ["0.00001234", "g", 10, "1.234e-05"],
    ["12345678901", "g", 10, "1.23456789e+10"],
    ["100", "e", undefined, "1e+02"],
    ["100", "g", undefined, "100"],
    ["1e21", "g", undefined, "1e+21"],
    ["255", "e", 1, "2.6e+02"],
    ["0", "e", 2, "0.00e+00"],
    ["-1.25", "f", 1, "-1.2"],
    ["0.000001", "f", 3, "0.000"],
  ] as const)("%s as %s with %s digits is %s", (text, format, digits, expected) => {
    expect(parse(text).text(format, digits)).toBe(expected);
  });

  it("writes doubles with the digits that identify them among doubles", () => {
    expect(BigFloat.fromNumber(0.1).text()).toBe("0.1");
    expect(BigFloat.fromNumber(1e300).text()).toBe(`1${"0".repeat(300)}`);
    // Next to a power of two the distances differ; the reference takes the larger one on both sides.
    expect(BigFloat.fromNumber(2 ** -44).text()).toBe("0.00000000000005684341886080801");
  });

  it("refuses to write out numbers of absurd size", () => {
    const huge = parse("1e100000");
    const monster = Array.from({ length: 4 }).reduce<BigFloat>(
      (product) => product.multiply(product),
      huge,
    );
    expect(() => monster.text()).toThrow(expect.objectContaining({ code: "CTY_NUMBER_RANGE" }));
    expect(() => monster.truncate()).toThrow(expect.objectContaining({ code: "CTY_NUMBER_RANGE" }));
  });
});

it("NaN is not a number", () => {
  expect(() => BigFloat.fromNumber(NaN)).toThrow(
    expect.objectContaining({ code: "CTY_NOT_A_NUMBER" }),
  );
});
