import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines } from "./text-lines.ts";

const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });

describe("the lines of two texts", () => {
  it("lead from the one to the other", () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const lines = diffLines(before, after);
        const side = (other: string) =>
          lines.flatMap(({ sign, text }) => (sign === other ? [] : [text]));
        expect(side("+")).toEqual(before);
        expect(side("-")).toEqual(after);
      }),
    );
  });

  it("keep as much as a search through all common subsequences finds", () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const kept = diffLines(before, after).filter(({ sign }) => sign === " ");
        expect(kept.length).toBe(longest(before, after));
      }),
    );
  });

  it.each([
    [10_000, 9_999],
    [10_001, 0],
  ])("are compared up to 20,000 of both texts: of %i and 10,000 %i stay", (count, kept) => {
    const lines = (first: string, length: number): string[] =>
      Array.from({ length }, (_, index) => (index === 0 ? first : `line ${index}`));
    const shown = diffLines(lines("x", count), lines("y", 10_000));
    expect(shown.filter(({ sign }) => sign === " ")).toHaveLength(kept);
  });
});

/** Length of a longest common subsequence, by definition. */
function longest(before: readonly string[], after: readonly string[]): number {
  const memo = new Map<number, number>();
  const from = (left: number, right: number): number => {
    if (left === before.length || right === after.length) return 0;
    const key = left * 100 + right;
    const known = memo.get(key);
    if (known !== undefined) return known;
    const result =
      before[left] === after[right]
        ? 1 + from(left + 1, right + 1)
        : Math.max(from(left + 1, right), from(left, right + 1));
    memo.set(key, result);
    return result;
  };
  return from(0, 0);
}
