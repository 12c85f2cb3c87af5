import { describe, expect, it } from "vitest";
import {
  conformsTo,
  MAX_TYPE_DEPTH,
  Type,
  typeExpression,
  typeName,
  withoutOptionalAttributes,
} from "../index.ts";

const { string, number, bool, dynamic } = Type;

describe("equality", () => {
  const pairs: readonly (readonly [Type, Type, boolean])[] = [
    [string, string, true],
    [string, number, false],
    [Type.list(string), Type.list(string), true],
    [Type.list(string), Type.set(string), false],
    [Type.list(string), Type.list(dynamic), false],
    [Type.tuple([string, bool]), Type.tuple([string, bool]), true],
    [Type.tuple([string]), Type.tuple([string, bool]), false],
    [Type.object({ a: string, b: bool }), Type.object({ b: bool, a: string }), true],
    [Type.object({ a: string }), Type.object({ b: string }), false],
    [Type.object({ a: string }), Type.object({ a: string }, { optional: ["a"] }), false],
    [Type.object({ é: string }), Type.object({ "e\u0301": string }), true],
    [Type.capsule("x"), Type.capsule("x"), false],
  ];

  it.each(pairs.map(([a, b, same]) => [typeExpression(a), typeExpression(b), same, a, b] as const))(
    "%s and %s: %s",
    (_a, _b, same, a, b) => {
      expect(a.equals(b)).toBe(same);
      expect(b.equals(a)).toBe(same);
      if (same) expect(a.hash).toBe(b.hash);
    },
  );

  it("collection types of one element type are one instance", () => {
    expect(Type.list(string)).toBe(Type.list(string));
    expect(Type.map(Type.set(number))).toBe(Type.map(Type.set(number)));
  });
});

describe("conformance", () => {
  const cases: readonly (readonly [Type, Type, boolean])[] = [
    [string, dynamic, true],
    [dynamic, string, false],
    [Type.list(string), Type.list(dynamic), true],
    [Type.list(dynamic), Type.list(string), false],
    [Type.object({ a: string }), Type.object({ a: dynamic }), true],
    [Type.object({ a: string }), Type.object({ a: string }, { optional: ["a"] }), true],
    [Type.object({ a: string }), Type.object({ a: string, b: string }, { optional: ["b"] }), false],
    [Type.tuple([string, number]), Type.tuple([dynamic, number]), true],
    [Type.tuple([string]), Type.list(dynamic), false],
  ];

  it.each(cases.map(([a, b, fits]) => [typeExpression(a), typeExpression(b), fits, a, b] as const))(
    "%s to %s: %s",
    (_a, _b, fits, a, b) => {
      expect(conformsTo(a, b)).toBe(fits);
    },
  );
});

describe("names", () => {
  it.each([
    [string, "string", "string"],
    [dynamic, "dynamic", "any type"],
    [Type.list(dynamic), "list of dynamic", "any list"],
    [Type.map(Type.set(number)), "map of set of number", "map of set of number"],
    [Type.object({ a: string }), "object", "object"],
    [Type.capsule("thing"), "thing", "thing"],
  ])("%#: %o is %s, as a constraint %s", (type, name, constraint) => {
    expect(typeName(type)).toBe(name);
    expect(typeName(type, true)).toBe(constraint);
  });

  it("expressions are those of the template language", () => {
    const type = Type.object(
      { "b c": Type.tuple([bool, dynamic]), a: Type.list(number) },
      { optional: ["a"] },
    );
    expect(typeExpression(type)).toBe('object({a=optional(list(number)),"b c"=tuple([bool,any])})');
  });
});

describe("object types", () => {
  it("order attributes by code point", () => {
    const type = Type.object({ "\u{1f642}": string, "\uffee": string, b: string, a: string });
    expect(type.names).toEqual(["a", "b", "\uffee", "\u{1f642}"]);
  });

  it("find attributes by any normal form of their name", () => {
    const type = Type.object({ "e\u0301": number });
    expect(type.attribute("\u00e9")).toBe(number);
    expect(type.attribute("e\u0301")).toBe(number);
    expect(type.attribute("e")).toBeUndefined();
    expect(type.has("constructor")).toBe(false);
  });

  it("reject optional attributes that are not declared", () => {
    expect(() => Type.object({ a: string }, { optional: ["b"] })).toThrow(
      expect.objectContaining({ code: "CTY_INVALID_TYPE" }),
    );
  });

  it("lose optional attributes at all depths", () => {
    const inner = Type.object({ a: string }, { optional: ["a"] });
    const plain = withoutOptionalAttributes(Type.list(Type.tuple([Type.map(inner)])));
    expect(plain.hasOptional).toBe(false);
    expect(plain.equals(Type.list(Type.tuple([Type.map(Type.object({ a: string }))])))).toBe(true);
  });
});

it("nesting is bounded", () => {
  let type: Type = string;
  for (let i = 0; i < MAX_TYPE_DEPTH; i += 1)
    type = i % 2 === 0 ? Type.list(type) : Type.tuple([type]);
  expect(type.depth).toBe(MAX_TYPE_DEPTH);
  expect(() => Type.list(type)).toThrow(expect.objectContaining({ code: "CTY_TOO_DEEP" }));
});
