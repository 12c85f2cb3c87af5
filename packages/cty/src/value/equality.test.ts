import { describe, expect, it } from "vitest";
import { equal, Mark, refine, Type, Value } from "../index.ts";

const s = (text: string) => Value.string(text);
const n = (text: string) => Value.parseNumber(text);
const unknown = Value.unknown(Type.string);
const notNull = refine(unknown, { notNull: true });
const set = (...parts: Value[]) => Value.set(parts);
const list = (...parts: Value[]) => Value.list(parts);

/** Left, right, and whether they are equal; "?" where that is not known. */
const TABLE: readonly (readonly [string, Value, Value, boolean | "?"])[] = [
  ["same string", s("a"), s("a"), true],
  ["different normal forms", s("e\u0301"), s("\u00e9"), true],
  ["number and its text", n("1"), s("1"), false],
  ["integers of different precision", n("1"), Value.number(1), true],
  ["a double and its decimal text", Value.number(0.1), n("0.1"), true],
  ["doubles and longer text", Value.number(0.1), n("0.1000000000000000055511151231257827"), false],
  ["large neighbours", n("9007199254740993"), n("9007199254740992"), false],
  ["the two zeros", n("-0"), n("0"), true],
  ["infinities", Value.positiveInfinity, n("Inf"), true],
  ["opposite infinities", Value.positiveInfinity, Value.negativeInfinity, false],
  ["nulls of one type", Value.null(Type.string), Value.null(Type.string), true],
  ["nulls of different types", Value.null(Type.string), Value.null(Type.number), true],
  ["null and value", Value.null(Type.string), s("a"), false],
  ["null and an unknown that may be null", Value.null(Type.number), unknown, "?"],
  ["null and an unknown that is not", Value.null(Type.number), notNull, false],
  ["two unknowns", unknown, unknown, "?"],
  ["unknown and a value of its type", unknown, s("a"), "?"],
  ["unknown and a value of another type", unknown, n("1"), false],
  ["prefix and a value that has it", refine(unknown, { fullPrefix: "ami-" }), s("ami-1"), "?"],
  ["prefix and a value that lacks it", refine(unknown, { fullPrefix: "ami-" }), s("vpc-1"), false],
  ["bounded number inside", refine(Value.unknown(Type.number), { min: { value: 1 } }), n("1"), "?"],
  [
    "bounded number outside",
    refine(Value.unknown(Type.number), { min: { value: 1 } }),
    n("0"),
    false,
  ],
  [
    "exclusive bound",
    refine(Value.unknown(Type.number), { max: { value: 1, inclusive: false } }),
    n("1"),
    false,
  ],
  [
    "length outside",
    refine(Value.unknown(Type.list(Type.string)), { minLength: 2 }),
    list(s("a")),
    false,
  ],
  ["dynamic and anything", Value.dynamic, s("a"), "?"],
  ["lists in order", list(s("a"), s("b")), list(s("b"), s("a")), false],
  ["lists of different lengths", list(s("a")), list(s("a"), s("a")), false],
  ["list and tuple", list(s("a")), Value.tuple([s("a")]), false],
  ["list and set", list(s("a")), set(s("a")), false],
  [
    "a difference behind an unknown",
    Value.tuple([unknown, n("1")]),
    Value.tuple([s("a"), n("2")]),
    false,
  ],
  [
    "no difference but an unknown",
    Value.tuple([unknown, n("1")]),
    Value.tuple([s("a"), n("1")]),
    "?",
  ],
  ["objects", Value.object({ a: n("1"), b: s("x") }), Value.object({ b: s("x"), a: n("1") }), true],
  [
    "objects with other attributes",
    Value.object({ a: n("1") }),
    Value.object({ b: n("1") }),
    false,
  ],
  ["maps", Value.map({ a: n("1") }), Value.map({ a: n("1") }), true],
  ["maps with other keys", Value.map({ a: n("1") }), Value.map({ b: n("1") }), false],
  ["sets in any order", set(s("a"), s("b")), set(s("b"), s("a"), s("a")), true],
  ["set and subset", set(s("a"), s("b")), set(s("a")), false],
  ["sets with an unknown", set(s("a"), unknown), set(s("a"), s("b")), "?"],
  [
    "a set without an element that the other has for certain",
    set(s("a"), unknown),
    set(s("b"), s("c"), s("d")),
    false,
  ],
  ["sets with unknowns inside", set(list(unknown)), set(list(s("a"))), "?"],
  [
    "sets with unknowns inside that cannot match",
    set(list(unknown)),
    set(list(s("a"), s("b"))),
    false,
  ],
  [
    "empty lists of different element types",
    Value.list([], Type.string),
    Value.list([], Type.number),
    false,
  ],
  [
    "open types that cannot become equal",
    Value.object({ a: Value.dynamic }),
    Value.object({ b: s("x") }),
    false,
  ],
  ["open types that can", Value.object({ a: Value.dynamic }), Value.object({ a: s("x") }), "?"],
];

describe("equality", () => {
  it.each(TABLE)("%s", (_name, a, b, expected) => {
    const truth = expected === "?" ? undefined : expected;
    expect(a.equals(b)).toBe(truth);
    expect(b.equals(a)).toBe(truth);
    const result = equal(a, b);
    expect(result.type).toBe(Type.bool);
    expect(result.isKnown ? result.asBoolean() : undefined).toBe(truth);
  });

  it("of capsules is identity unless the type says otherwise", () => {
    const plain = Type.capsule<{ id: number }>("plain");
    expect(Value.capsule(plain, { id: 1 }).equals(Value.capsule(plain, { id: 1 }))).toBe(false);
    const own = Type.capsule<{ id: number }>("own", {
      equals: (a, b) => a.id === b.id,
      hashKey: (v) => String(v.id),
    });
    const [a, b] = [Value.capsule(own, { id: 1 }), Value.capsule(own, { id: 1 })];
    expect(a.equals(b)).toBe(true);
    expect(Value.set([a, b]).size).toBe(1);
  });

  it("collects the marks of both sides, those of parts included", () => {
    const a = list(s("a").mark(Mark.of("inner")), s("b"));
    const b = list(s("a"), s("b")).mark(Mark.of("outer"));
    expect(String(equal(a, b).marks)).toBe("inner, outer");
    // What null is compared with does not matter, only that it is there.
    expect(equal(a, Value.null(Type.list(Type.string))).isMarked).toBe(false);
  });
});

describe("sameness", () => {
  it("distinguishes what equality does not", () => {
    expect(Value.null(Type.string).rawEquals(Value.null(Type.number))).toBe(false);
    expect(unknown.rawEquals(notNull)).toBe(false);
    expect(unknown.rawEquals(Value.unknown(Type.string))).toBe(true);
    expect(s("a").rawEquals(s("a").mark(Mark.sensitive))).toBe(false);
    expect(
      list(s("a").mark(Mark.sensitive)).rawEquals(list(s("a").mark(Mark.of("sensitive")))),
    ).toBe(true);
    expect(set(s("a"), unknown).rawEquals(set(unknown, s("a")))).toBe(true);
  });
});
