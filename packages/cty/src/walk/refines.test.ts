import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findContradiction, Mark, refine, refines, Type, Value } from "../index.ts";
import { type, valueOf } from "../testing/vectors/arbitraries.ts";
import { build } from "../testing/vectors/notation.ts";
import { replaceSome } from "../testing/vectors/replace.ts";

const { string, number } = Type;
const s = (text: string) => Value.string(text);
const unknown = Value.unknown(string);
const prefixed = refine(unknown, { notNull: true, fullPrefix: "ami-" });

/** What was planned, what came, and where it contradicts (undefined: nowhere). */
const CASES: readonly (readonly [string, Value, Value, string | undefined])[] = [
  ["an unknown that became known", unknown, s("a"), undefined],
  ["an unknown that stayed one", unknown, unknown, undefined],
  ["an unknown that became null", unknown, Value.null(string), undefined],
  ["an unknown of open type", Value.dynamic, Value.list([s("a")]), undefined],
  ["an unknown of another type", unknown, Value.zero, ""],
  ["a prefix that was kept", prefixed, s("ami-1"), undefined],
  ["a prefix that was not", prefixed, s("vpc-1"), ""],
  ["a null against the plan", prefixed, Value.null(string), ""],
  ["an unknown with less said about it", prefixed, unknown, ""],
  ["an unknown that may be null again", refine(unknown, { notNull: true }), unknown, ""],
  [
    "an unknown with more said about it",
    prefixed,
    refine(prefixed, { fullPrefix: "ami-0" }),
    undefined,
  ],
  [
    "bounds that got tighter",
    refine(Value.unknown(number), { min: { value: 1 } }),
    refine(Value.unknown(number), { min: { value: 1, inclusive: false } }),
    undefined,
  ],
  [
    "bounds that got looser",
    refine(Value.unknown(number), { min: { value: 1, inclusive: false } }),
    refine(Value.unknown(number), { min: { value: 1 } }),
    "",
  ],
  ["a known value that stayed", s("a"), s("a"), undefined],
  ["a known value that changed", s("a"), s("b"), ""],
  ["a known value that became unknown", s("a"), unknown, ""],
  ["null that became something", Value.null(string), s("a"), ""],
  ["marks that changed", s("a").mark(Mark.sensitive), s("a"), undefined],
  [
    "an attribute",
    Value.object({ a: s("x"), b: unknown }),
    Value.object({ a: s("y"), b: s("z") }),
    ".a",
  ],
  ["an element too many", Value.list([s("a")]), Value.list([s("a"), s("b")]), ""],
  ["another key", Value.map({ a: unknown }), Value.map({ b: s("x") }), '["a"]'],
  [
    "an empty list whose type was open",
    Value.list([], Type.dynamic),
    Value.list([], string),
    undefined,
  ],
  [
    "unknown elements of a set that coincide",
    Value.set([unknown, s("a")]),
    Value.set([s("a")]),
    undefined,
  ],
  [
    "unknown elements of a set that differ",
    Value.set([unknown, s("a")]),
    Value.set([s("a"), s("b")]),
    undefined,
  ],
  [
    "an element of a set that was lost",
    Value.set([unknown, s("a")]),
    Value.set([s("b"), s("c")]),
    '["a"]',
  ],
  [
    "an element of a set from nowhere",
    Value.set([s("a"), unknown]),
    Value.set([s("a"), s("b"), s("c")]),
    '["c"]',
  ],
  [
    "elements of a set that only fit in one way",
    Value.set([Value.tuple([unknown, unknown]), Value.tuple([s("x"), unknown])]),
    Value.set([Value.tuple([s("x"), s("1")]), Value.tuple([s("y"), s("2")])]),
    undefined,
  ],
];

describe("what a value was allowed to become", () => {
  it.each(CASES)("%s", (_name, placeholder, value, where) => {
    const found = findContradiction(placeholder, value);
    expect(found === undefined ? undefined : String(found)).toBe(where);
    expect(refines(value, placeholder)).toBe(where === undefined);
  });

  it("includes every value it was made from, and itself", () => {
    fc.assert(
      fc.property(
        type({ depth: 3 }).chain((t) => valueOf(t)),
        fc.nat(),
        (notation, seed) => {
          const value = build(notation);
          const placeholder = replaceSome(value, seed, (part) => Value.unknown(part.type));
          expect(refines(value, placeholder)).toBe(true);
          expect(refines(placeholder, placeholder)).toBe(true);
          expect(refines(value, value)).toBe(true);
        },
      ),
    );
  });
});
