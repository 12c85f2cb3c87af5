import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BigFloat, fromNative, Mark, type NativeInput, Type, toNative, Value } from "./index.ts";

describe("JavaScript data as values", () => {
  it("takes its type from its structure", () => {
    const value = fromNative({
      n: 1,
      list: ["a", null],
      big: 2n ** 70n,
      set: new Set([1, 2]),
      map: new Map([["k", true]]),
    });
    const expected = Value.object({
      n: Value.number(1),
      list: Value.tuple([Value.string("a"), Value.null(Type.dynamic)]),
      big: Value.number(2n ** 70n),
      set: Value.set([Value.number(1), Value.number(2)]),
      map: Value.object({ k: Value.true }),
    });
    expect(value.rawEquals(expected)).toBe(true);
  });

  it("is converted to a type that is given", () => {
    const type = Type.object(
      { tags: Type.map(Type.string), ports: Type.set(Type.number) },
      { optional: ["ports"] },
    );
    const value = fromNative({ tags: { a: 1 } }, type);
    expect(
      value.rawEquals(
        Value.object({
          ports: Value.null(Type.set(Type.number)),
          tags: Value.map({ a: Value.string("1") }),
        }),
      ),
    ).toBe(true);
    expect(() => fromNative({ tags: [] }, type)).toThrow(
      expect.objectContaining({ code: "CTY_CONVERSION" }),
    );
  });

  it("may contain values", () => {
    const secret = Value.string("x").mark(Mark.sensitive);
    expect(fromNative([secret]).elements()[0]).toMatchObject({ isMarked: true });
  });

  it.each([
    ["functions", () => 1],
    ["dates", new Date(0)],
    ["symbols", Symbol("x")],
    ["class instances", new URL("http://localhost/")],
  ])("refuses %s", (_name, input) => {
    const smuggled: { value: unknown } = { value: input };
    expect(() => fromNative(smuggled as NativeInput)).toThrow(
      expect.objectContaining({ code: "CTY_INVALID_VALUE" }),
    );
  });

  it("refuses what contains itself, but not what is there twice", () => {
    const shared = { a: 1 };
    expect(fromNative([shared, shared]).size).toBe(2);
    const cycle: Record<string, NativeInput> = {};
    cycle.self = [cycle];
    expect(() => fromNative(cycle)).toThrow(expect.objectContaining({ code: "CTY_INVALID_VALUE" }));
  });
});

describe("values as JavaScript data", () => {
  it("gives numbers in the plainest form that keeps them", () => {
    expect(toNative(Value.parseNumber("0.1"))).toBe(0.1);
    expect(toNative(Value.parseNumber("9007199254740993"))).toBe(9007199254740993n);
    expect(toNative(Value.number(1e21))).toBe(1000000000000000000000n);
    expect(toNative(Value.positiveInfinity)).toBe(Infinity);
    const precise = toNative(Value.parseNumber("0.1234567890123456789"));
    expect(precise instanceof BigFloat ? precise.text() : precise).toBe("0.1234567890123456789");
  });

  it("keeps names that are special in JavaScript", () => {
    const native = toNative(Value.object({ ["__proto__"]: Value.true }));
    expect(Object.entries(native ?? {})).toEqual([["__proto__", true]]);
    expect(Object.getPrototypeOf(native)).toBe(Object.prototype);
  });

  it("refuses what would be lost", () => {
    expect(() => toNative(Value.tuple([Value.true.mark(Mark.sensitive)]))).toThrow(
      expect.objectContaining({ code: "CTY_MARKED" }),
    );
    expect(() => toNative(Value.tuple([Value.dynamic]))).toThrow(
      expect.objectContaining({ code: "CTY_UNKNOWN" }),
    );
    expect(() => toNative(Value.capsule(Type.capsule("x"), 1))).toThrow(
      expect.objectContaining({ code: "CTY_WRONG_TYPE" }),
    );
  });

  it("returns JSON data as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 4 }), (data) => {
        const text = JSON.stringify(data, (_key, part: unknown) =>
          Object.is(part, -0) ? 0 : part,
        ).normalize("NFC");
        fc.pre(text.isWellFormed() && !text.includes("\\ud"));
        const plain: NativeInput = JSON.parse(text);
        const sorted = toNative(fromNative(plain));
        expect(sorted).toEqual(withBigIntegers(plain));
      }),
    );
  });
});

/** Whole doubles beyond 2^53 come back as integers. */
function withBigIntegers(data: unknown): unknown {
  if (typeof data === "number")
    return Number.isInteger(data) && !Number.isSafeInteger(data) ? BigInt(data) : data;
  if (Array.isArray(data)) return data.map(withBigIntegers);
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, part]) => [key, withBigIntegers(part)]),
  );
}
