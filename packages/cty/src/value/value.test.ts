import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { BigFloat, CtyError, Mark, Type, Value } from "../index.ts";

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof CtyError) return error.code;
    throw error;
  }
  return undefined;
}

describe("strings", () => {
  it("are kept in normalisation form C", () => {
    expect(Value.string("e\u0301").asString()).toBe("\u00e9");
    expect(Value.string("\u1100\u1161").asString()).toBe("\uac00");
    expect(Value.string("a\ud800b").asString()).toBe("a\ufffdb");
  });
});

describe("numbers", () => {
  it("made of JavaScript numbers have the digits one sees", () => {
    expect(Value.number(0.1).asBigFloat().text()).toBe("0.1");
    expect(Value.number(1e21).asBigFloat().text()).toBe("1000000000000000000000");
    expect(
      Value.number(2n ** 70n)
        .asBigFloat()
        .text(),
    ).toBe("1180591620717411303424");
  });

  it("give integers only where they are safe", () => {
    expect(Value.parseNumber("42").asInteger()).toBe(42);
    expect(codeOf(() => Value.parseNumber("9007199254740993").asInteger())).toBe(
      "CTY_NUMBER_RANGE",
    );
    expect(codeOf(() => Value.number(1.5).asInteger())).toBe("CTY_NUMBER_RANGE");
    expect(Object.is(Value.parseNumber("-0").asInteger(), 0)).toBe(true);
  });

  it("reject what is none", () => {
    expect(codeOf(() => Value.number(Number.NaN))).toBe("CTY_NOT_A_NUMBER");
    expect(codeOf(() => Value.parseNumber("1,5"))).toBe("CTY_NUMBER_SYNTAX");
  });
});

describe("collections", () => {
  it("take their element type from the values", () => {
    const list = Value.list([Value.dynamic, Value.string("a"), Value.null(Type.dynamic)]);
    expect(list.type).toBe(Type.list(Type.string));
    const [first, , last] = list.elements();
    expect(first?.type).toBe(Type.string);
    expect(first?.isKnown).toBe(false);
    expect(last?.isNull).toBe(true);
  });

  it.each(["list", "set", "map"] as const)("of kind %s need one type", (kind) => {
    const parts = [Value.string("a"), Value.zero];
    const make = () =>
      kind === "map" ? Value.map({ a: Value.string("a"), b: Value.zero }) : Value[kind](parts);
    expect(codeOf(make)).toBe("CTY_INVALID_VALUE");
    expect(codeOf(() => (kind === "map" ? Value.map({}) : Value[kind]([])))).toBe(
      "CTY_INVALID_VALUE",
    );
    const empty = kind === "map" ? Value.map({}, Type.bool) : Value[kind]([], Type.bool);
    expect(empty.size).toBe(0);
    expect(empty.type).toBe(Type[kind](Type.bool));
  });

  it("check the element type they are given", () => {
    expect(codeOf(() => Value.list([Value.zero], Type.string))).toBe("CTY_INVALID_VALUE");
  });

  it("of keys iterate by code point, and of equal keys keep the last", () => {
    const map = Value.map([
      ["\u{1f642}", Value.number(1)],
      ["\uffee", Value.number(2)],
      ["b", Value.number(3)],
      ["e\u0301", Value.number(4)],
      ["\u00e9", Value.number(5)],
    ]);
    const entries = Array.from(map.entries(), ([key, value]) => [key, value.asInteger()]);
    expect(entries).toEqual([
      ["b", 3],
      ["\u00e9", 5],
      ["\uffee", 2],
      ["\u{1f642}", 1],
    ]);
  });

  it("do not change when what they were made of does", () => {
    const parts = [Value.string("a")];
    const [list, tuple] = [Value.list(parts), Value.tuple(parts)];
    parts.push(Value.string("b"));
    expect([list.size, tuple.size]).toEqual([1, 1]);
  });
});

describe("objects", () => {
  it("have the attributes that they are given, whatever the names", () => {
    const value = Value.object({ constructor: Value.zero, ["__proto__"]: Value.true });
    expect(Array.from(value.entries(), ([name]) => name)).toEqual(["__proto__", "constructor"]);
  });

  it("of a known type share it", () => {
    const type = Type.object({ a: Type.string, b: Type.number });
    expect(Value.objectOf(type, [Value.string("x"), Value.zero]).type).toBe(type);
    expect(codeOf(() => Value.objectOf(type, [Value.zero, Value.string("x")]))).toBe(
      "CTY_INVALID_VALUE",
    );
    expect(codeOf(() => Value.objectOf(type, []))).toBe("CTY_INVALID_VALUE");
  });
});

describe("capsules", () => {
  it("hold what the application puts in", () => {
    const type = Type.capsule<{ id: number }>("thing");
    const content = { id: 7 };
    expect(Value.capsule(type, content).asCapsule(type)).toBe(content);
    expect(codeOf(() => Value.capsule(type, content).asCapsule(Type.capsule("thing")))).toBe(
      "CTY_WRONG_TYPE",
    );
  });
});

describe("content", () => {
  const cases: readonly (readonly [string, Value, string])[] = [
    ["unknown", Value.unknown(Type.string), "CTY_UNKNOWN"],
    ["null", Value.null(Type.string), "CTY_NULL"],
    ["marked", Value.string("a").mark(Mark.sensitive), "CTY_MARKED"],
    ["of another type", Value.zero, "CTY_WRONG_TYPE"],
    ["dynamic", Value.dynamic, "CTY_WRONG_TYPE"],
  ];

  it.each(cases)("is not given out where the value is %s", (_state, value, code) => {
    expect(codeOf(() => value.asString())).toBe(code);
  });

  it("is given out by type", () => {
    expect(Value.true.asBoolean()).toBe(true);
    expect(Value.parseNumber("0.1").asNumber()).toBe(0.1);
    expect(Value.number(3).asBigFloat()).toBeInstanceOf(BigFloat);
    expect(
      Value.tuple([Value.zero, Value.true])
        .elements()
        .map((v) => v.type.kind),
    ).toEqual(["number", "bool"]);
    expect(codeOf(() => Value.unknown(Type.list(Type.string)).size)).toBe("CTY_UNKNOWN");
    expect(codeOf(() => [...Value.list([Value.zero]).entries()])).toBe("CTY_WRONG_TYPE");
  });

  it("does not leak into what a log shows", () => {
    const secret = Value.object({ password: Value.string("hunter2").mark(Mark.sensitive) });
    expect(inspect(secret, { depth: 9 })).not.toContain("hunter2");
    expect(JSON.stringify(secret)).not.toContain("hunter2");
    expect(String(new CtyError("CTY_MARKED", "x"))).not.toContain("hunter2");
  });
});

describe("state", () => {
  const nested = Value.object({
    list: Value.list([Value.unknown(Type.string), Value.string("a").mark(Mark.sensitive)]),
    open: Value.dynamic,
  });

  it("of parts is known from the whole", () => {
    expect(nested.isKnown).toBe(true);
    expect(nested.isWhollyKnown).toBe(false);
    expect(nested.hasWhollyKnownType).toBe(false);
    expect(nested.isMarked).toBe(false);
    expect(nested.containsMarks).toBe(true);
    const plain = Value.list([Value.string("a")]);
    expect([plain.isWhollyKnown, plain.hasWhollyKnownType, plain.containsMarks]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("of parts shows through their marks", () => {
    const hidden = Value.tuple([Value.list([Value.dynamic.mark(Mark.sensitive)], Type.dynamic)]);
    expect([hidden.isWhollyKnown, hidden.hasWhollyKnownType, hidden.containsMarks]).toEqual([
      false,
      false,
      true,
    ]);
    const inner = Value.tuple([Value.list([Value.unknown(Type.string)]).mark(Mark.sensitive)]);
    expect([inner.isWhollyKnown, inner.hasWhollyKnownType]).toEqual([false, true]);
  });

  it("of null and unknown values", () => {
    expect(Value.null(Type.dynamic).isWhollyKnown).toBe(true);
    expect(Value.unknown(Type.dynamic)).toBe(Value.dynamic);
    expect(Value.unknown(Type.list(Type.dynamic)).hasWhollyKnownType).toBe(false);
    expect(Value.null(Type.list(Type.dynamic)).hasWhollyKnownType).toBe(true);
  });

  it("never has optional attributes in its type", () => {
    const type = Type.object({ a: Type.string }, { optional: ["a"] });
    for (const value of [Value.null(type), Value.unknown(type), Value.list([], type)]) {
      expect(value.type.hasOptional).toBe(false);
    }
  });
});
