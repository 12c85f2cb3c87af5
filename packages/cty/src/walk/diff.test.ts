import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applyDiff,
  type Difference,
  type DiffOptions,
  diff,
  Mark,
  Path,
  Type,
  Value,
  withoutOptionalAttributes,
} from "../index.ts";
import { relatedConstraint, type, valueOf } from "../testing/vectors/arbitraries.ts";
import { build } from "../testing/vectors/notation.ts";
import { alignSequences } from "./align.ts";

const s = (text: string) => Value.string(text);
const list = (...texts: string[]) => Value.list(texts.map(s), Type.string);

function shown(differences: readonly Difference[]): string[] {
  const sign = { added: "+", removed: "-", changed: "~", marks: "*" };
  return differences.map(({ kind, path }) => `${sign[kind]}${String(path)}`);
}

const CASES: readonly (readonly [string, Value, Value, readonly string[]])[] = [
  ["nothing", list("a"), list("a"), []],
  ["a scalar", s("a"), s("b"), ["~"]],
  ["another type", s("1"), Value.number(1), ["~"]],
  ["to null", s("a"), Value.null(Type.string), ["~"]],
  ["to unknown", s("a"), Value.unknown(Type.string), ["~"]],
  ["between nulls of different types", Value.null(Type.string), Value.null(Type.number), ["~"]],
  [
    "attributes",
    Value.object({ a: s("x"), b: s("y") }),
    Value.object({ b: s("z"), c: s("w") }),
    ["-.a", "~.b", "+.c"],
  ],
  ["keys", Value.map({ a: s("x") }), Value.map({ b: s("x") }), ['-["a"]', '+["b"]']],
  [
    "elements by position",
    list("a", "b", "c"),
    list("x", "a", "b", "c"),
    ["~[0]", "~[1]", "~[2]", "+[3]"],
  ],
  ["fewer elements", list("a", "b"), list("a"), ["-[1]"]],
  [
    "elements of sets",
    Value.set([s("a"), s("b")]),
    Value.set([s("b"), s("c")]),
    ['-["a"]', '+["c"]'],
  ],
  ["element types of empty lists", list(), Value.list([], Type.number), ["~"]],
  [
    "deeply",
    Value.tuple([Value.object({ a: list("x") })]),
    Value.tuple([Value.object({ a: list("y") })]),
    ["~[0].a[0]"],
  ],
  ["marks alone", s("a"), s("a").mark(Mark.sensitive), ["*"]],
  ["marks and content", list("a").mark(Mark.sensitive), list("b"), ["*", "~[0]"]],
  ["refinements", Value.unknown(Type.string), Value.unknown(Type.number), ["~"]],
];

describe("differences", () => {
  it.each(CASES)("of %s", (_name, before, after, expected) => {
    expect(shown(diff(before, after))).toEqual(expected);
    expect(applyDiff(before, diff(before, after)).rawEquals(after)).toBe(true);
  });

  it("of sequences keep what only moved", () => {
    const options: DiffOptions = { lists: "sequence" };
    expect(shown(diff(list("a", "b", "c"), list("x", "a", "b", "c"), options))).toEqual(["+[0]"]);
    expect(shown(diff(list("a", "b", "c", "d"), list("a", "d"), options))).toEqual([
      "-[1]",
      "-[2]",
    ]);
    expect(shown(diff(list("a", "b", "c"), list("a", "x", "c"), options))).toEqual(["~[1]"]);
  });

  it("carry what was there and what is", () => {
    const [difference] = diff(
      Value.object({ a: s("x").mark(Mark.of("m")) }),
      Value.object({ a: s("y").mark(Mark.of("m")) }),
    );
    expect(difference).toMatchObject({ kind: "changed" });
    if (difference?.kind !== "changed") throw new TypeError("unexpected kind");
    expect([difference.before.asString(), difference.after.asString()]).toEqual(["x", "y"]);
  });

  it("can be applied in part, which leaves the rest as it was", () => {
    const before = Value.object({ name: s("old"), tags: Value.map({ a: s("1") }) });
    const after = Value.object({ name: s("new"), tags: Value.map({ a: s("1"), b: s("2") }) });
    const ignored = Path.root.attribute("tags");
    const kept = diff(before, after).filter(({ path }) => !path.startsWith(ignored));
    const expected = Value.object({ name: s("new"), tags: Value.map({ a: s("1") }) });
    expect(applyDiff(before, kept).rawEquals(expected)).toBe(true);
  });

  it("are complete: applied to the one value they give the other", () => {
    const pair = type({ depth: 3 }).chain((t) =>
      fc.tuple(
        valueOf(t, { marks: true }),
        fc.oneof(
          valueOf(t, { marks: true }),
          relatedConstraint(t).chain((other) =>
            valueOf(withoutOptionalAttributes(other), { marks: true }),
          ),
        ),
      ),
    );
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const [before, after] = [build(one), build(other)];
        const differences = diff(before, after);
        expect(differences.length === 0).toBe(before.rawEquals(after));
        expect(applyDiff(before, differences).rawEquals(after)).toBe(true);
      }),
    );
  });
});

describe("alignment", () => {
  it("keeps a longest common subsequence together, in order", () => {
    const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (left, right) => {
        const pairs = [...alignSequences(left, right, (a, b) => a === b)];
        expect(pairs.flatMap(([a]) => a ?? [])).toEqual(left);
        expect(pairs.flatMap(([, b]) => b ?? [])).toEqual(right);
        const together = pairs.filter(([a, b]) => a !== undefined && a === b).length;
        expect(together).toBeGreaterThanOrEqual(longestCommon(left, right));
      }),
    );
  });

  it("gives up on sequences that are too long, without giving wrong pairs", () => {
    const left = Array.from({ length: 3000 }, (_, i) => i);
    const right = left.map((i) => i + 0.5);
    expect([...alignSequences(left, right, (a, b) => a === b)]).toHaveLength(3000);
  });
});

/** Length of a longest common subsequence, by trying everything. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const [x, ...restA] = a;
  const [y, ...restB] = b;
  if (x === undefined || y === undefined) return 0;
  if (x === y) return 1 + longestCommon(restA, restB);
  return Math.max(longestCommon(restA, b), longestCommon(a, restB));
}
