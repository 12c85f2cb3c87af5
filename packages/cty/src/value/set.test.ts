import { describe, expect, it } from "vitest";
import {
  hasElement,
  intersectSets,
  length,
  Mark,
  rangeOf,
  subtractSets,
  symmetricDifferenceSets,
  Type,
  unionSets,
  Value,
} from "../index.ts";

const s = (text: string) => Value.string(text);
const strings = (...texts: string[]) => Value.set(texts.map(s), Type.string);
const unknown = Value.unknown(Type.string);

/** Elements as they iterate, in a short form. */
function shown(value: Value): (string | number | boolean)[] {
  return value.elements().map((element) => {
    if (element.isNull) return "null";
    if (!element.isKnown) return "?";
    if (element.type.kind === "string") return element.asString();
    if (element.type.kind === "number") return element.asBigFloat().text();
    return element.type.kind === "bool"
      ? element.asBoolean()
      : element
          .elements()
          .map((e) => shown(Value.tuple([e])).join())
          .join("/");
  });
}

describe("order of iteration", () => {
  const orders: readonly (readonly [string, Value, readonly unknown[]])[] = [
    [
      "strings by code point",
      strings("b", "\u{1f642}", "a", "\uffee", "B"),
      ["B", "a", "b", "\uffee", "\u{1f642}"],
    ],
    [
      "numbers by size",
      Value.set(["10", "9", "-1", "0.5"].map((t) => Value.parseNumber(t))),
      ["-1", "0.5", "9", "10"],
    ],
    ["false before true", Value.set([Value.true, Value.false]), [false, true]],
    // Equal in size, but not in their hash text, so the reference keeps both, in the order of its buckets.
    ["both zeros", Value.set(["0", "-0"].map((t) => Value.parseNumber(t))), ["-0", "0"]],
    [
      "both zeros the other way",
      Value.set(["-0", "0"].map((t) => Value.parseNumber(t))),
      ["-0", "0"],
    ],
    [
      "unknown, then null, last",
      Value.set([Value.null(Type.string), unknown, s("z"), unknown, s("a")]),
      ["a", "z", "?", "?", "null"],
    ],
    [
      "compounds by the text of their parts",
      Value.set([
        Value.list([s("b")]),
        Value.list([s("a"), s("c")]),
        Value.list([s("a")]),
        Value.list([], Type.string),
      ]),
      // The end of a list sorts behind its elements.
      ["a/c", "a", "b", ""],
    ],
  ];

  it.each(orders)("%s", (_name, value, expected) => {
    expect(shown(value)).toEqual(expected);
  });
});

describe("duplicates", () => {
  it("are what is equal, whatever form it came in", () => {
    const numbers = [
      Value.parseNumber("1"),
      Value.number(1),
      Value.parseNumber("1.0"),
      Value.number(0.1),
      Value.parseNumber("0.1"),
    ];
    expect(shown(Value.set(numbers))).toEqual(["0.1", "1"]);
    expect(shown(Value.set([s("e\u0301"), s("\u00e9")]))).toEqual(["\u00e9"]);
    expect(Value.set([Value.null(Type.string), Value.null(Type.string)]).size).toBe(1);
  });

  it("are not assumed of unknowns", () => {
    const value = Value.set([unknown, unknown, s("a")]);
    expect(value.size).toBe(3);
    const count = length(value);
    expect(count.isKnown).toBe(false);
    expect(rangeOf(count)).toMatchObject({ isNull: false });
    expect([rangeOf(count).min?.value.text(), rangeOf(count).max?.value.text()]).toEqual([
      "1",
      "3",
    ]);
    expect(length(Value.set([unknown])).asInteger()).toBe(1);
  });
});

describe("marks", () => {
  it("of elements, at any depth, become marks of the set", () => {
    const value = Value.set([Value.list([s("a").mark(Mark.sensitive)]), Value.list([s("b")])]);
    expect(value.hasMark(Mark.sensitive)).toBe(true);
    const [plain] = value.unmark();
    expect(plain.containsMarks).toBe(false);
  });
});

describe("operations", () => {
  const a = strings("a", "b", "c");
  const b = strings("b", "c", "d");

  it.each([
    ["union", unionSets, "a,b,c,d"],
    ["intersection", intersectSets, "b,c"],
    ["difference", subtractSets, "a"],
    ["symmetric difference", symmetricDifferenceSets, "a,d"],
  ] as const)("%s", (_name, run, expected) => {
    expect(shown(run(a, b)).join(",")).toBe(expected);
    expect(run(a.mark(Mark.sensitive), b).hasMark(Mark.sensitive)).toBe(true);
  });

  it("leave open what unknowns leave open", () => {
    const open = Value.set([s("a"), unknown]);
    expect(shown(unionSets(open, b))).toEqual(["a", "b", "c", "d", "?"]);
    for (const run of [intersectSets, subtractSets, symmetricDifferenceSets]) {
      expect(run(open, b).isKnown).toBe(false);
      expect(rangeOf(run(open, b)).isNull).toBe(false);
    }
    expect(rangeOf(intersectSets(open, b)).maxLength).toBe(2);
    expect(rangeOf(unionSets(Value.unknown(a.type), a))).toMatchObject({
      minLength: 3,
      maxLength: Infinity,
    });
  });

  it("need sets of one type", () => {
    expect(() => unionSets(a, Value.set([Value.zero]))).toThrow(
      expect.objectContaining({ code: "CTY_WRONG_TYPE" }),
    );
    expect(() => unionSets(a, Value.null(a.type))).toThrow(
      expect.objectContaining({ code: "CTY_NULL" }),
    );
  });
});

describe("membership", () => {
  const open = Value.set([s("a"), unknown]);
  const cases: readonly (readonly [string, Value, Value, boolean | "?"])[] = [
    ["present", strings("a"), s("a"), true],
    ["absent", strings("a"), s("b"), false],
    ["present beside an unknown", open, s("a"), true],
    ["possibly the unknown", open, s("b"), "?"],
    ["an unknown element", strings("a"), unknown, "?"],
    ["of another type", strings("a"), Value.zero, false],
    ["of unknown type", strings("a"), Value.dynamic, "?"],
    ["in an unknown set", Value.unknown(Type.set(Type.string)), s("a"), "?"],
    ["null", Value.set([Value.null(Type.string)]), Value.null(Type.string), true],
  ];

  it.each(cases)("%s", (_name, set, element, expected) => {
    const result = hasElement(set, element);
    expect(result.isKnown ? result.asBoolean() : "?").toBe(expected);
  });
});
