import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sequenceSteps } from "./sequence-diff.ts";

const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });

describe("steps between two sequences", () => {
  it("lead from the one to the other", () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const steps = sequenceSteps(before, after, Object.is);
        const left = steps.flatMap((step) => (step.kind === "insert" ? [] : [step.before]));
        const right = steps.flatMap((step) => (step.kind === "remove" ? [] : [step.after]));
        expect(left).toEqual(before);
        expect(right).toEqual(after);
      }),
    );
  });

  it("keep as much as a search through all common subsequences finds", () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const kept = sequenceSteps(before, after, Object.is).filter(({ kind }) => kind === "keep");
        expect(kept.length).toBe(longest(before, after));
      }),
    );
  });

  it("count removed items in the first sequence and all others in the second", () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        for (const step of sequenceSteps(before, after, Object.is)) {
          if (step.kind === "remove") expect(before[step.index]).toBe(step.before);
          else expect(after[step.index]).toBe(step.after);
        }
      }),
    );
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
