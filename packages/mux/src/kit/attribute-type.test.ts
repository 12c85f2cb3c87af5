import { type BigFloat, Path, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { contentOf, optional, valueOf } from "./attribute.ts";
import { type AttributeType, types } from "./attribute-type.ts";
import { ContentFailure } from "./content-failure.ts";

const BEYOND = 2n ** 53n + 1n;
const { string, bool, number, exactNumber, any, list, set, map, object } = types;
const nested = map(list(object({ name: string, sizes: set(number) })));

/** The failure of a conversion: place and reason, and the path that a diagnostic gets. */
function failureOf(convert: () => unknown): readonly [detail: string, path: string] {
  try {
    convert();
  } catch (error) {
    if (!(error instanceof ContentFailure)) throw error;
    return [error.detail, (error.attribute ?? Path.root).toString()];
  }
  throw new Error("nothing failed");
}

const give = (type: AttributeType<unknown>, content: unknown) =>
  valueOf("x", optional(type), content);
const take = (type: AttributeType<unknown>, value: Value) =>
  contentOf({ x: optional(type) }, Value.object({ x: value })).x;

describe("what provider code gets, and what it may give", () => {
  const numbers = Value.list([Value.number(1), Value.number(2)]);
  const words = Value.set([Value.string("a"), Value.string("b")]);
  const dictionary = Value.map([["k", Value.string("v")]]);
  const point = Value.object({ x: Value.number(1), y: Value.null(Type.string) });
  const deep = Value.map([
    [
      "k",
      Value.list([Value.object({ name: Value.string("n"), sizes: Value.set([Value.number(1)]) })]),
    ],
  ]);
  const cases: readonly [string, AttributeType<unknown>, Value, unknown, readonly unknown[]][] = [
    ["string", string, Value.string("a"), "a", []],
    ["bool", bool, Value.true, true, []],
    ["number", number, Value.number(1.5), 1.5, []],
    ["number of 2^53", number, Value.number(2n ** 53n), 2 ** 53, []],
    ["exactNumber", exactNumber, Value.number(7), Value.number(7).asBigFloat(), [7, 7n]],
    ["any", any, numbers, numbers, []],
    ["any of plain data", any, Value.object({ a: Value.true }), undefined, [{ a: true }]],
    ["list", list(number), numbers, [1, 2], []],
    ["set", set(string), words, ["a", "b"], [new Set(["b", "a"]), ["b", "a", "a"]]],
    ["map", map(string), dictionary, new Map([["k", "v"]]), [{ k: "v" }]],
    ["object", object({ x: number, y: string }), point, { x: 1, y: null }, [{ x: 1 }]],
    [
      "nested",
      nested,
      deep,
      new Map([["k", [{ name: "n", sizes: [1] }]]]),
      [{ k: [{ name: "n", sizes: new Set([1]) }] }],
    ],
  ];

  it.each(cases)("%s", (_name, type, value, content, others) => {
    if (content !== undefined) {
      expect(take(type, value)).toEqual(content);
      expect(give(type, content).rawEquals(value)).toBe(true);
    }
    for (const other of others) expect(give(type, other).rawEquals(value)).toBe(true);
  });

  it.each(cases)("%s: null is null, unknown is undefined", (_name, type) => {
    expect(take(type, Value.null(type.type))).toBeNull();
    expect(take(type, Value.unknown(type.type))).toBeUndefined();
    expect(give(type, null).rawEquals(Value.null(type.type))).toBe(true);
  });

  it("a part that is not known yet makes the whole undefined", () => {
    expect(take(list(string), Value.list([Value.unknown(Type.string)]))).toBeUndefined();
    const half = Value.object({ x: Value.unknown(Type.number), y: Value.string("a") });
    expect(take(object({ x: number, y: string }), half)).toBeUndefined();
  });

  it("parts that are null are null", () => {
    const parts = [null, "a"];
    expect(take(list(string), give(list(string), parts))).toEqual(parts);
    expect(take(map(string), give(map(string), { k: null }))).toEqual(new Map([["k", null]]));
  });

  it("numbers beyond 2^53 keep their digits, or are refused", () => {
    const value = Value.number(BEYOND);
    expect((take(exactNumber, value) as BigFloat).text()).toBe(`${BEYOND}`);
    expect(give(exactNumber, BEYOND).rawEquals(value)).toBe(true);
    expect(failureOf(() => take(number, value))).toEqual([
      "x: the number has more digits than types.number keeps",
      ".x",
    ]);
    expect(failureOf(() => take(map(number), Value.map([["k", value]])))[0]).toMatch(/^x\["k"\]: /);
  });
});

describe("content of another type is refused where it is", () => {
  it.each<[AttributeType<unknown>, unknown, string, string]>([
    [string, 5, "x: a string is needed, not a number", ".x"],
    [bool, "true", "x: a boolean is needed, not a string", ".x"],
    [number, "5", "x: a number is needed, not a string", ".x"],
    [number, 5n, "x: a number is needed, not a bigint", ".x"],
    [exactNumber, "5", "x: a BigFloat, bigint or number is needed, not a string", ".x"],
    [any, new Date(0), "x: only plain data can become a value", ".x"],
    [list(string), new Set(), "x: an array is needed, not a Set", ".x"],
    [list(string), ["a", 5], "x[1]: a string is needed, not a number", ".x[1]"],
    [set(string), "a", "x: an array or a Set is needed, not a string", ".x"],
    [set(string), ["a", 5], "x[1]: a string is needed, not a number", ".x"],
    [map(string), ["a"], "x: a Map or a plain object is needed, not an array", ".x"],
    [map(string), new Date(0), "x: a Map or a plain object is needed, not a Date", ".x"],
    [map(string), { k: 5 }, 'x["k"]: a string is needed, not a number', '.x["k"]'],
    [map(string), new Map([[5, "a"]]), "x: a string as key is needed, not a number", ".x"],
    [object({ y: string }), new Map(), "x: an object is needed, not a Map", ".x"],
    [object({ y: string }), { y: true }, "x.y: a string is needed, not a boolean", ".x.y"],
    [
      nested,
      { k: [{ name: "n", sizes: [1, "2"] }] },
      'x["k"][0].sizes[1]: a number is needed, not a string',
      '.x["k"][0].sizes',
    ],
    [number, Number.NaN, "x: NaN is not a number", ".x"],
  ])("%#", (type, content, detail, path) => {
    const [told, at] = failureOf(() => give(type, content));
    expect(at).toBe(path);
    // The reasons of the value package are its own.
    if (Number.isNaN(content)) expect(told).toMatch(/^x: ./);
    else expect(told).toBe(detail);
  });
});
