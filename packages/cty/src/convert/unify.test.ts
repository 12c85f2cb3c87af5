import { describe, expect, it } from "vitest";
import { Mark, Type, typeExpression, unify, Value } from "../index.ts";

const { string, number, bool, dynamic } = Type;
const object = (attributes: Record<string, Type>) => Type.object(attributes);

/** Types, and what they have in common: safely, and where different also unsafely. */
const TABLE: readonly (readonly [readonly Type[], Type | undefined, Type?])[] = [
  [[string], string],
  [[string, string], string],
  [[string, number], string],
  [[number, bool, string], string],
  [[number, bool], undefined],
  [[string, Type.list(string)], undefined],
  [[dynamic, dynamic], dynamic],
  [[dynamic, string], dynamic, string],
  [[Type.list(string), Type.list(number)], Type.list(string)],
  [[Type.list(string), Type.set(string)], Type.list(string)],
  [[Type.set(string), Type.set(number)], Type.set(string)],
  [[Type.map(bool), Type.map(string)], Type.map(string)],
  [[Type.list(string), Type.map(string)], undefined],
  [[Type.list(dynamic), Type.list(string)], Type.list(dynamic), Type.list(string)],
  [[Type.list(string), dynamic], dynamic],
  [[Type.tuple([string, number]), Type.tuple([number, number])], Type.tuple([string, number])],
  [[Type.tuple([string]), Type.tuple([string, number])], Type.list(string)],
  [[Type.tuple([string]), Type.tuple([])], Type.list(string)],
  [[Type.tuple([bool]), Type.tuple([number])], undefined],
  [[Type.tuple([string, number]), Type.list(bool)], Type.list(string)],
  [[Type.tuple([string]), Type.set(string)], Type.set(string), Type.set(string)],
  [[object({ a: string }), object({ a: number })], object({ a: string })],
  [[object({ a: string }), object({ b: number })], Type.map(string)],
  [[object({ a: string }), object({})], Type.map(string)],
  [[object({ a: bool }), object({ a: number })], undefined],
  [[object({ a: string, b: Type.tuple([]) }), object({ a: string })], undefined],
  [[object({ a: number }), Type.map(string)], Type.map(string)],
  [[object({ a: string }), Type.tuple([string])], undefined],
  [[object({ a: string }), dynamic], dynamic],
  [
    [object({ a: Type.list(string) }), object({ a: Type.tuple([number]) })],
    object({ a: Type.list(string) }),
  ],
];

describe("unification", () => {
  const cases = TABLE.map(([types, safe, unsafe]) => {
    return [types.map(typeExpression).join(" and "), types, safe, unsafe ?? safe] as const;
  });

  it.each(cases)("%s", (_name, types, safe, unsafe) => {
    const shown = (type: Type | undefined) =>
      type === undefined ? undefined : typeExpression(type);
    expect(shown(unify(types)?.type)).toBe(shown(safe));
    expect(shown(unify(types, { unsafe: true })?.type)).toBe(shown(unsafe));
    // The kind of result does not depend on the order.
    expect(shown(unify(types.toReversed())?.type)).toBe(shown(safe));
  });

  it("of nothing is nothing", () => {
    expect(unify([])).toBeUndefined();
  });

  it("comes with the conversions that are needed, and no others", () => {
    const unified = unify([number, string, number]);
    expect(unified?.conversions.map((conversion) => conversion !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    expect(unified?.conversions[0]?.(Value.number(1)).asString()).toBe("1");
  });

  it("converts what was unified in two steps with both", () => {
    const unified = unify([Type.list(string), Type.tuple([bool, bool])]);
    const value = unified?.conversions[1]?.(Value.tuple([Value.true, Value.false]));
    expect(value?.rawEquals(Value.list([Value.string("true"), Value.string("false")]))).toBe(true);
  });

  it("keeps the marks of what becomes open", () => {
    const unified = unify([Type.list(string), dynamic]);
    const value = unified?.conversions[0]?.(Value.list([Value.string("a").mark(Mark.sensitive)]));
    expect(value?.isKnown).toBe(false);
    expect(value?.hasMark(Mark.sensitive)).toBe(true);
  });

  it("takes time in proportion to the number of types, not to its square", () => {
    const types = Array.from({ length: 200_000 }, (_, i) => (i % 3 === 0 ? string : number));
    expect(unify(types)?.type).toBe(string);
    const tuples = types.map((type) => Type.tuple([type]));
    expect(typeExpression(unify(tuples)?.type ?? dynamic)).toBe("tuple([string])");
  });
});
