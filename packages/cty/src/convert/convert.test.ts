import { describe, expect, it } from "vitest";
import {
  CtyError,
  convert,
  describeMismatch,
  findConversion,
  Mark,
  rangeOf,
  refine,
  Type,
  typeExpression,
  Value,
} from "../index.ts";

const { string, number, bool, dynamic } = Type;
const thing = Type.capsule("thing");

/** One type of every kind, all of whose parts convert to string. */
const KINDS: Readonly<Record<string, Type>> = {
  string,
  number,
  bool,
  list: Type.list(number),
  set: Type.set(number),
  map: Type.map(number),
  tuple: Type.tuple([number, bool]),
  object: Type.object({ a: number, b: bool }),
  dynamic,
  capsule: thing,
  anyList: Type.list(dynamic),
};

/**
 * How each kind (rows) converts to each kind of target (columns), the elements of collections being strings there:
 * "s" for all values, "u" for some, "." not at all.
 */
const TARGETS: Readonly<Record<string, Type>> = {
  string,
  number,
  bool,
  list: Type.list(string),
  set: Type.set(string),
  map: Type.map(string),
  tuple: Type.tuple([string, string]),
  object: Type.object({ a: string, b: string }),
  dynamic,
  capsule: thing,
  anyList: Type.list(dynamic),
};

const MATRIX = `
          string number bool list set map tuple object dynamic capsule anyList
string    .      u      u    .    .   .   .     .      s       .       .
number    s      .      .    .    .   .   .     .      s       .       .
bool      s      .      .    .    .   .   .     .      s       .       .
list      .      .      .    s    u   .   .     .      s       .       s
set       .      .      .    s    s   .   .     .      s       .       s
map       .      .      .    .    .   s   .     u      s       .       .
tuple     .      .      .    s    s   .   s     .      s       .       .
object    .      .      .    .    .   s   .     s      s       .       .
dynamic   u      u      u    u    u   u   u     u      s       u       u
capsule   .      .      .    .    .   .   .     .      s       .       .
anyList   .      .      .    u    u   .   .     .      s       .       s
`;

describe("the conversion matrix", () => {
  const [header = "", ...rows] = MATRIX.trim().split("\n");
  const columns = header.trim().split(/\s+/);
  const cases = rows.flatMap((row) => {
    const [from = "", ...cells] = row.trim().split(/\s+/);
    return cells.map((cell, i) => [from, columns[i] ?? "", cell] as const);
  });

  it("is complete", () => {
    expect(cases).toHaveLength(11 * 11);
  });

  it.each(cases)("%s to %s: %s", (from, to, expected) => {
    const [source, target] = [KINDS[from], TARGETS[to]];
    if (source === undefined || target === undefined) throw new TypeError("unknown kind");
    const safe = findConversion(source, target) !== undefined;
    const unsafe = findConversion(source, target, { unsafe: true }) !== undefined;
    expect({ safe, unsafe }).toEqual({ safe: expected === "s", unsafe: expected !== "." });
    if (safe || unsafe) {
      const unknown = convert(Value.unknown(source), target);
      expect(unknown.isKnown).toBe(false);
      expect(convert(Value.null(source), target).isNull).toBe(true);
    }
  });
});

const s = (text: string) => Value.string(text);
const n = (text: string) => Value.parseNumber(text);

const CONVERSIONS: readonly (readonly [string, Value, Type, Value | string])[] = [
  ["number to string without exponent", n("1e21"), string, s("1000000000000000000000")],
  ["fraction to string", n("0.10"), string, s("0.1")],
  ["large integer to string", n("9007199254740993"), string, s("9007199254740993")],
  ["string to exact number", s("9007199254740993"), number, n("9007199254740993")],
  ["text to number", s("one"), number, "CTY_CONVERSION"],
  ["a number beyond all bounds", s("1e999999999"), number, "CTY_CONVERSION"],
  ["padded text to number", s(" 1"), number, "CTY_CONVERSION"],
  ["true", s("true"), bool, Value.true],
  ["1", s("1"), bool, Value.true],
  ["0", s("0"), bool, Value.false],
  ["True", s("True"), bool, "CTY_CONVERSION"],
  ["number to bool", n("1"), bool, "CTY_CONVERSION"],
  [
    "tuple to list of the common type",
    Value.tuple([n("1"), s("a"), Value.true]),
    Type.list(dynamic),
    Value.list([s("1"), s("a"), s("true")]),
  ],
  [
    "tuple without a common type",
    Value.tuple([n("1"), Value.emptyTuple]),
    Type.list(dynamic),
    "CTY_CONVERSION",
  ],
  ["empty tuple to any list", Value.emptyTuple, Type.list(dynamic), Value.list([], dynamic)],
  [
    "tuple to set",
    Value.tuple([s("b"), s("a"), s("b")]),
    Type.set(string),
    Value.set([s("a"), s("b")]),
  ],
  [
    "list to set",
    Value.list([s("b"), s("a"), s("b")]),
    Type.set(string),
    Value.set([s("a"), s("b")]),
  ],
  ["set to list", Value.set([s("b"), s("a")]), Type.list(string), Value.list([s("a"), s("b")])],
  [
    "object to map",
    Value.object({ a: n("1"), b: s("x") }),
    Type.map(dynamic),
    Value.map({ a: s("1"), b: s("x") }),
  ],
  [
    "object drops what the target lacks",
    Value.object({ a: n("1"), b: s("x") }),
    Type.object({ b: string }),
    Value.object({ b: s("x") }),
  ],
  [
    "object lacks what the target needs",
    Value.object({ a: n("1") }),
    Type.object({ a: number, b: string }),
    "CTY_CONVERSION",
  ],
  [
    "object lacks something optional",
    Value.object({ a: n("1") }),
    Type.object({ a: number, b: string }, { optional: ["b"] }),
    Value.object({ a: n("1"), b: Value.null(string) }),
  ],
  [
    "map to object",
    Value.map({ a: n("1"), c: n("3") }),
    Type.object({ a: string }),
    Value.object({ a: s("1") }),
  ],
  [
    "map to object without a key",
    Value.map({ c: n("3") }),
    Type.object({ a: string }),
    "CTY_CONVERSION",
  ],
  [
    "map to object with an impossible optional",
    Value.map({ a: n("1") }),
    Type.object({ a: number, b: Type.list(string) }, { optional: ["b"] }),
    Value.object({ a: n("1"), b: Value.null(Type.list(string)) }),
  ],
  [
    "map to object with an impossible key",
    Value.map({ a: n("1"), b: n("2") }),
    Type.object({ a: number, b: Type.list(string) }, { optional: ["b"] }),
    "CTY_CONVERSION",
  ],
  [
    "map of dynamic unifies",
    Value.map({ a: Value.list([n("1")]), b: Value.list([n("2")]) }),
    Type.map(Type.list(dynamic)),
    Value.map({ a: Value.list([n("1")]), b: Value.list([n("2")]) }),
  ],
  [
    "tuples of different lengths",
    Value.tuple([s("a")]),
    Type.tuple([string, string]),
    "CTY_CONVERSION",
  ],
  ["anything to dynamic", Value.tuple([s("a")]), dynamic, Value.tuple([s("a")])],
  ["dynamic to anything", Value.dynamic, Type.list(string), Value.unknown(Type.list(string))],
  ["null takes the type", Value.null(dynamic), Type.list(string), Value.null(Type.list(string))],
  [
    "null of an open target keeps its own type",
    Value.null(Type.tuple([string])),
    Type.tuple([dynamic]),
    Value.null(Type.tuple([string])),
  ],
  [
    "nested",
    Value.list([Value.object({ a: s("1"), tags: Value.tuple([s("x")]) })]),
    Type.list(Type.object({ a: number, tags: Type.set(string) })),
    Value.list([Value.object({ a: n("1"), tags: Value.set([s("x")]) })]),
  ],
];

describe("convert", () => {
  it.each(CONVERSIONS)("%s", (_name, value, target, expected) => {
    if (typeof expected === "string") {
      expect(() => convert(value, target)).toThrow(expect.objectContaining({ code: expected }));
      return;
    }
    const result = convert(value, target);
    expect(typeExpression(result.type)).toBe(typeExpression(expected.type));
    expect(result.rawEquals(expected)).toBe(true);
  });

  it("returns the identical value where there is nothing to do", () => {
    const value = Value.object({ a: s("x") });
    expect(convert(value, value.type)).toBe(value);
    expect(convert(value, dynamic)).toBe(value);
    expect(convert(value, Type.object({ a: string }, { optional: ["a"] }))).toBe(value);
  });

  it("keeps marks where they are", () => {
    const value = Value.tuple([s("1").mark(Mark.sensitive), s("2")]).mark(Mark.ephemeral);
    const list = convert(value, Type.list(number));
    expect(String(list.marks)).toBe("ephemeral");
    const parts = list.unmark()[0].elements();
    expect(parts.map((part) => part.hasMark(Mark.sensitive))).toEqual([true, false]);
    const set = convert(value, Type.set(number));
    expect(String(set.marks)).toBe("ephemeral, sensitive");
    expect(
      convert(Value.list([Value.null(string).mark(Mark.sensitive)]), Type.set(string)).hasMark(
        Mark.sensitive,
      ),
    ).toBe(true);
  });

  it("names the part that is at fault", () => {
    const value = Value.object({
      rules: Value.tuple([Value.object({ port: s("1") }), Value.object({ port: s("http") })]),
    });
    const target = Type.object({ rules: Type.list(Type.object({ port: number })) });
    const error = CtyError.from(catchError(() => convert(value, target)));
    expect(error.path?.toString()).toBe(".rules[1].port");
    expect(error.message).not.toContain("http");
  });

  it("says what is known about an unknown result", () => {
    const list = refine(Value.unknown(Type.list(string)), {
      notNull: true,
      minLength: 2,
      maxLength: 5,
    });
    expect(rangeOf(convert(list, Type.list(number)))).toMatchObject({
      isNull: false,
      minLength: 2,
      maxLength: 5,
    });
    expect(rangeOf(convert(list, Type.set(string)))).toMatchObject({ minLength: 1, maxLength: 5 });
    const object = refine(Value.unknown(Type.object({ a: string, b: string })), { notNull: true });
    expect(rangeOf(convert(object, Type.map(string)))).toMatchObject({
      minLength: 2,
      maxLength: 2,
    });
    const tuple = refine(Value.unknown(Type.tuple([string, string])), { notNull: true });
    // The number of elements is certain, so the list is known, only what is in it is not.
    expect(
      convert(tuple, Type.list(string)).rawEquals(
        Value.list([Value.unknown(string), Value.unknown(string)]),
      ),
    ).toBe(true);
  });

  it("makes an unknown list of a set whose size is open", () => {
    const set = Value.set([Value.unknown(number), n("1")]);
    expect(convert(set, Type.list(string)).rawEquals(Value.unknown(Type.list(string)))).toBe(true);
  });

  it("follows the rules of capsule types", () => {
    const upper = Type.capsule<string>("upper", {
      canConvertFrom: (source) => source === string,
      convertFrom: (value) => value.asString().toUpperCase(),
      canConvertTo: (target) => target === string || target === bool,
      convertTo: (content) => s(content),
    });
    const capsule = convert(s("abc"), upper);
    expect(capsule.asCapsule(upper)).toBe("ABC");
    expect(convert(capsule, string).asString()).toBe("ABC");
    expect(
      convert(Value.list([s("x")]), Type.list(upper))
        .elements()[0]
        ?.asCapsule(upper),
    ).toBe("X");
    expect(findConversion(string, upper)).toBeUndefined();
    expect(() => convert(capsule, bool)).toThrow(
      expect.objectContaining({ code: "CTY_CONVERSION" }),
    );
    expect(() => convert(capsule, number)).toThrow(
      expect.objectContaining({ code: "CTY_CONVERSION" }),
    );
  });
});

describe("mismatches", () => {
  it.each([
    [Type.tuple([]), string, "expected string, got tuple"],
    [string, number, "expected number"],
    [number, bool, "expected bool, got number"],
    [
      Type.object({ a: string }),
      Type.object({ a: string, b: string, c: string }),
      'attributes "b", "c" are missing',
    ],
    [
      Type.object({ a: Type.object({}) }),
      Type.object({ a: Type.object({ b: string }) }),
      'attribute "a": attribute "b" is missing',
    ],
    [
      Type.tuple([string, Type.tuple([])]),
      Type.list(string),
      "element 1: expected string, got tuple",
    ],
    [
      Type.tuple([string, Type.tuple([])]),
      Type.list(dynamic),
      "all elements of a list must be of one type",
    ],
    [
      Type.list(Type.tuple([])),
      Type.list(string),
      "elements of the list: expected string, got tuple",
    ],
    [
      Type.object({ a: Type.tuple([]) }),
      Type.map(string),
      'element "a": expected string, got tuple',
    ],
    [Type.map(string), Type.list(string), "expected list of string, got map of string"],
    [Type.tuple([string]), Type.tuple([]), "expected a tuple of 0 elements, got 1"],
  ])("%#", (got, want, message) => {
    expect(describeMismatch(got, want)).toBe(message);
  });

  it("cost no more with each level", () => {
    let [got, want]: [Type, Type] = [Type.tuple([]), string];
    for (let i = 0; i < 60; i += 1)
      [got, want] = [Type.object({ a: got }), Type.object({ a: want })];
    expect(describeMismatch(got, want)).toContain("expected string, got tuple");
  });
});

function catchError(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}
