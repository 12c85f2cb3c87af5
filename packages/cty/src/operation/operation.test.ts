import { describe, expect, it } from "vitest";
import {
  absolute,
  add,
  and,
  CtyError,
  divide,
  getAttribute,
  greaterThan,
  greaterThanOrEqual,
  hasIndex,
  index,
  length,
  lessThan,
  lessThanOrEqual,
  Mark,
  modulo,
  multiply,
  negate,
  not,
  notEqual,
  or,
  rangeOf,
  refine,
  subtract,
  Type,
  Value,
} from "../index.ts";

const { string, number, bool } = Type;
const n = (text: string) => Value.parseNumber(text);
const between = (min: number, max: number) =>
  refine(Value.unknown(number), { notNull: true, min: { value: min }, max: { value: max } });

/** A value in a short form: what it is, or what is known about it. */
function shown(value: Value): string {
  if (value.isKnown)
    return value.type.kind === "bool" ? String(value.asBoolean()) : value.asBigFloat().text();
  const { min, max, isNull } = rangeOf(value);
  const bounds = `${min?.value.text() ?? ""}..${max?.value.text() ?? ""}`;
  return `?${isNull === false ? "!" : ""}${bounds === ".." ? "" : bounds}`;
}

describe("arithmetic", () => {
  it.each([
    ["0.1 + 0.2", add(n("0.1"), n("0.2")), "0.3"],
    ["2^53 + 1", add(Value.number(2 ** 53 - 1), Value.number(2)), "9007199254740993"],
    ["1 - 3", subtract(Value.number(1), Value.number(3)), "-2"],
    [
      "large product",
      multiply(Value.number(9007199254740991), Value.number(9007199254740991)),
      "81129638414606663681390495662081",
    ],
    ["-(0)", negate(Value.number(0)), "-0"],
    ["0 * -1", multiply(Value.number(0), Value.number(-1)), "-0"],
    ["1 / 3 of lengths", divide(Value.number(1), Value.number(3)), "0.33333333333333333334"],
    ["1 / 0", divide(n("1"), n("0")), "+Inf"],
    ["-7 % 3", modulo(Value.number(-7), Value.number(3)), "-1"],
    ["7 % 0", modulo(Value.number(7), Value.number(0)), "7"],
    ["5.5 % 2", modulo(n("5.5"), n("2")), "1.5"],
    ["-4 % 2", modulo(Value.number(-4), Value.number(2)), "0"],
    ["|-1.5|", absolute(n("-1.5")), "1.5"],
    ["unknown + 1", add(Value.unknown(number), n("1")), "?!"],
    ["1..5 + 2", add(between(1, 5), n("2")), "?!3..7"],
    ["1..5 - 1..2", subtract(between(1, 5), between(1, 2)), "?!-1..4"],
    ["-2..5 * 3..4", multiply(between(-2, 5), between(3, 4)), "?!-8..20"],
    ["0 * 1..5", multiply(n("0"), between(1, 5)), "0"],
    ["1..5 / 2", divide(between(1, 5), n("2")), "?!"],
    ["|unknown|", absolute(Value.unknown(number)), "?!0.."],
    ["|2..5|", absolute(between(2, 5)), "?!2..5"],
    ["-unknown", negate(Value.dynamic), "?!"],
  ] as const)("%s", (_name, result, expected) => {
    expect(result.type).toBe(number);
    expect(shown(result)).toBe(expected);
  });
});

describe("comparison and logic", () => {
  const open = Value.unknown(bool);
  it.each([
    ["1 < 2", lessThan(n("1"), n("2")), "true"],
    ["0.1 < 0.1 as a double", lessThan(n("0.1"), Value.number(0.1)), "true"],
    ["2 > 2", greaterThan(n("2"), n("2")), "false"],
    ["2 >= 2", greaterThanOrEqual(n("2"), n("2")), "true"],
    ["2 <= 1", lessThanOrEqual(n("2"), n("1")), "false"],
    ["1..5 < 6", lessThan(between(1, 5), n("6")), "true"],
    ["1..5 > 6", greaterThan(between(1, 5), n("6")), "false"],
    ["1..5 < 3", lessThan(between(1, 5), n("3")), "?!"],
    ["1..5 >= 0", greaterThanOrEqual(between(1, 5), n("0")), "true"],
    ["unknown < 3", lessThan(Value.unknown(number), n("3")), "?!"],
    ["not", not(Value.true), "false"],
    ["not unknown", not(open), "?!"],
    ["false and unknown", and(Value.false, open), "false"],
    ["unknown and false", and(open, Value.false), "false"],
    ["true and unknown", and(Value.true, open), "?!"],
    ["unknown or true", or(open, Value.true), "true"],
    ["false or unknown", or(Value.false, Value.dynamic), "?!"],
    ["different types are unequal", notEqual(n("1"), Value.string("1")), "true"],
  ] as const)("%s", (_name, result, expected) => {
    expect(result.type).toBe(bool);
    expect(shown(result)).toBe(expected);
  });
});

describe("operands", () => {
  it.each([
    ["of another type", () => add(n("1"), Value.string("1")), "CTY_WRONG_TYPE"],
    [
      "of another type beside an unknown",
      () => add(Value.unknown(number), Value.string("1")),
      "CTY_WRONG_TYPE",
    ],
    ["null", () => lessThan(n("1"), Value.null(number)), "CTY_NULL"],
    ["null of open type", () => not(Value.null(Type.dynamic)), "CTY_NULL"],
    ["zero by zero", () => divide(n("0"), n("0")), "CTY_NOT_A_NUMBER"],
  ] as const)("%s are refused", (_name, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });

  it("pass their marks on, whatever the result", () => {
    const secret = Mark.sensitive;
    for (const result of [
      add(n("1").mark(secret), n("2")),
      and(Value.false, Value.unknown(bool).mark(secret)),
      not(Value.true.mark(secret)),
      index(Value.list([n("1")]), Value.zero.mark(secret)),
      length(Value.list([n("1")]).mark(secret)),
      hasIndex(Value.list([n("1")]).mark(secret), Value.zero),
      getAttribute(Value.object({ a: n("1") }).mark(secret), "a"),
    ]) {
      expect(result.hasMark(secret)).toBe(true);
    }
  });
});

describe("access", () => {
  const list = Value.list([Value.string("a"), Value.string("b").mark(Mark.sensitive)]);
  const tuple = Value.tuple([Value.string("a"), n("1")]);
  const map = Value.map({ é: n("1") });
  const object = Value.object({ é: n("1") });

  it.each([
    ["element of a list", index(list, n("1")), Value.string("b").mark(Mark.sensitive)],
    ["element of a tuple", index(tuple, Value.number(1)), n("1")],
    ["element of a map", index(map, Value.string("e\u0301")), n("1")],
    ["attribute", getAttribute(object, "e\u0301"), n("1")],
    ["unknown key of a list", index(list, Value.unknown(number)), Value.unknown(string)],
    ["unknown key of a tuple", index(tuple, Value.unknown(number)), Value.dynamic],
    ["key of unknown type", index(map, Value.dynamic), Value.unknown(number)],
    [
      "element of an unknown tuple",
      index(Value.unknown(tuple.type), Value.zero),
      Value.unknown(string),
    ],
    [
      "attribute of an unknown object",
      getAttribute(Value.unknown(object.type), "é"),
      Value.unknown(number),
    ],
    ["anything of anything", index(Value.dynamic, n("5")), Value.dynamic],
    ["attribute of anything", getAttribute(Value.dynamic, "x"), Value.dynamic],
  ] as const)("%s", (_name, result, expected) => {
    expect(result.rawEquals(expected)).toBe(true);
  });

  it.each([
    ["beyond the end", () => index(list, n("2")), "CTY_NO_SUCH_ELEMENT"],
    ["before the start", () => index(list, n("-1")), "CTY_NO_SUCH_ELEMENT"],
    ["between elements", () => index(list, n("0.5")), "CTY_NO_SUCH_ELEMENT"],
    ["a missing key", () => index(map, Value.string("x")), "CTY_NO_SUCH_ELEMENT"],
    ["a missing attribute", () => getAttribute(object, "x"), "CTY_NO_SUCH_ELEMENT"],
    [
      "beyond an unknown tuple",
      () => index(Value.unknown(tuple.type), n("2")),
      "CTY_NO_SUCH_ELEMENT",
    ],
    ["a key of the wrong type", () => index(list, Value.string("0")), "CTY_WRONG_TYPE"],
    ["a null key", () => index(list, Value.null(number)), "CTY_NULL"],
    ["null", () => index(Value.null(list.type), Value.zero), "CTY_NULL"],
    ["a null of open type", () => getAttribute(Value.null(Type.dynamic), "a"), "CTY_WRONG_TYPE"],
    ["a set", () => index(Value.set([n("1")]), Value.zero), "CTY_WRONG_TYPE"],
    ["a string", () => getAttribute(Value.string("x"), "a"), "CTY_WRONG_TYPE"],
  ] as const)("refuses %s", (_name, run, code) => {
    expect(run).toThrow(CtyError);
    expect(run).toThrow(expect.objectContaining({ code }));
  });

  it.each([
    ["there", hasIndex(list, n("1")), "true"],
    ["not there", hasIndex(list, n("2")), "false"],
    ["of the wrong type", hasIndex(list, Value.string("1")), "false"],
    ["fractional", hasIndex(tuple, n("0.5")), "false"],
    ["in a map", hasIndex(map, Value.string("é")), "true"],
    ["unknown", hasIndex(list, Value.unknown(number)), "?!"],
    ["in an unknown list", hasIndex(Value.unknown(list.type), n("1")), "?!"],
    ["in an unknown tuple", hasIndex(Value.unknown(tuple.type), n("1")), "true"],
  ] as const)("tells whether an index is %s", (_name, result, expected) => {
    expect(shown(result)).toBe(expected);
  });

  it.each([
    ["list", length(list), "2"],
    ["tuple", length(Value.unknown(tuple.type)), "2"],
    ["object", length(object), "1"],
    ["unknown list", length(Value.unknown(list.type)), "?!0..9223372036854775807"],
    [
      "unknown list with bounds",
      length(refine(Value.unknown(list.type), { minLength: 2, maxLength: 4 })),
      "?!2..4",
    ],
    ["set with unknowns", length(Value.set([Value.unknown(string), Value.string("a")])), "?!1..2"],
  ] as const)("counts a %s", (_name, result, expected) => {
    expect(shown(result)).toBe(expected);
  });
});
