import { Value as V, type Value } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomType, randomValue, twoValues } from "../testing/random-values.ts";
import { applyValueDiff } from "./apply-value-diff.ts";
import { diffValues } from "./diff-values.ts";
import { elementsOf, pairCost } from "./element.ts";
import { LeafNumbers } from "./leaves.ts";
import type { ItemDiff } from "./value-diff.ts";

const RUNS = Number(process.env.STACKWRIGHT_RUNS ?? 2_000);

describe("diffValues", () => {
  it("leads from the value before to the value after, with types and marks", () => {
    fc.assert(
      fc.property(twoValues(), ([before, after]) => {
        const made = applyValueDiff(diffValues(before, after), before);
        expect(made?.rawEquals(after)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it("finds nothing between a value and itself", () => {
    fc.assert(
      fc.property(randomType(3).chain(randomValue), (value) => {
        expect(diffValues(value, value).kind).toBe("same");
      }),
    );
  });

  it("costs as little as the best of all alignments of short lists", () => {
    const element = fc
      .tuple(fc.constantFrom("p", "q"), fc.constantFrom("r", "s"), fc.constantFrom("t", "u"))
      .map(([a, b, c]) => V.object({ a: V.string(a), b: V.string(b), c: V.string(c) }));
    const lists = fc.array(element, { maxLength: 5 });
    fc.assert(
      fc.property(lists, lists, (before, after) => {
        const diff = diffValues(V.tuple(before), V.tuple(after));
        const items = diff.kind === "items" ? diff.items : [];
        // A pair that moved is found after the alignment, and only saves more.
        const moved = items.some((item) => item.moved === true);
        const cost = costOf(before, after, items);
        const least = diff.kind === "same" ? 0 : smallest(before, after);
        if (moved) expect(cost).toBeLessThanOrEqual(least);
        else expect(cost).toBe(least);
      }),
    );
  });

  it("pairs elements that agree in half of what they have, or are the only ones", () => {
    const element = fc
      .tuple(fc.constantFrom("x", "y"), fc.integer({ min: 0, max: 3 }))
      .map(([a, b]) => V.object({ a: V.string(a), b: V.number(b) }));
    const lists = fc.array(element, { maxLength: 8 });
    fc.assert(
      fc.property(lists, lists, (before, after) => {
        fc.pre(before.length > 1 || after.length > 1);
        const diff = diffValues(V.tuple(before), V.tuple(after));
        for (const { diff: inner } of diff.kind === "items" ? diff.items : []) {
          if (inner.kind !== "members") continue;
          expect(inner.members.some((member) => member.diff.kind === "same")).toBe(true);
        }
      }),
    );
    fc.assert(
      fc.property(element, element, (before, after) => {
        const diff = diffValues(V.tuple([before]), V.tuple([after]));
        expect(diff.kind === "items" ? diff.items : [0]).toHaveLength(1);
      }),
    );
  });

  it("pairs elements of equal keys and never those of different ones", () => {
    const keyed = fc
      .uniqueArray(fc.tuple(fc.constantFrom("k", "l", "m", "n"), fc.constantFrom("v", "w")), {
        maxLength: 4,
        selector: ([key]) => key,
      })
      .map((pairs) =>
        pairs.map(([name, value]) => V.object({ name: V.string(name), value: V.string(value) })),
      );
    fc.assert(
      fc.property(keyed, keyed, (before, after) => {
        const diff = diffValues(V.tuple(before), V.tuple(after));
        if (diff.kind !== "items") return;
        const nameAt = (list: readonly Value[], index: number | undefined) =>
          index === undefined
            ? undefined
            : [...(list[index]?.entries() ?? [])].find(([name]) => name === "name")?.[1].asString();
        const unpaired = (side: "beforeIndex" | "afterIndex", list: readonly Value[]) =>
          diff.items
            .filter((item) => item.beforeIndex === undefined || item.afterIndex === undefined)
            .flatMap((item) => nameAt(list, item[side]) ?? []);
        for (const item of diff.items) {
          if (item.beforeIndex === undefined || item.afterIndex === undefined) continue;
          expect(nameAt(before, item.beforeIndex)).toBe(nameAt(after, item.afterIndex));
        }
        const removed = new Set(unpaired("beforeIndex", before));
        for (const name of unpaired("afterIndex", after)) expect(removed.has(name)).toBe(false);
      }),
    );
  });

  it("does not depend on the order of a set", () => {
    const values = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 });
    fc.assert(
      fc.property(values, values, (left, right) => {
        const set = (texts: readonly string[]) =>
          V.set(
            texts.map((text) => V.string(text)),
            V.string("").type,
          );
        const one = JSON.stringify(diffValues(set(left), set(right)));
        const other = JSON.stringify(diffValues(set(left.toReversed()), set(right.toReversed())));
        expect(one).toBe(other);
      }),
    );
  });
});

function costOf(before: readonly Value[], after: readonly Value[], items: readonly ItemDiff[]) {
  const [left, right] = prepared(before, after);
  let cost = 0;
  for (const { diff, beforeIndex, afterIndex } of items) {
    const was = beforeIndex === undefined ? undefined : left[beforeIndex];
    const is = afterIndex === undefined ? undefined : right[afterIndex];
    if (diff.kind === "same") continue;
    if (was !== undefined && is !== undefined) cost += pairCost(was, is, areAlone(left, right));
    else cost += was?.leaves.weight ?? is?.leaves.weight ?? 0;
  }
  return cost;
}

function smallest(before: readonly Value[], after: readonly Value[]): number {
  const [left, right] = prepared(before, after);
  const search = (row: number, column: number): number => {
    const [was, is] = [left[row], right[column]];
    if (was === undefined && is === undefined) return 0;
    const options = [];
    if (was !== undefined) options.push(was.leaves.weight + search(row + 1, column));
    if (is !== undefined) options.push(is.leaves.weight + search(row, column + 1));
    if (was !== undefined && is !== undefined) {
      const cost = was.value.rawEquals(is.value) ? 0 : pairCost(was, is, areAlone(left, right));
      options.push(cost + search(row + 1, column + 1));
    }
    return Math.min(...options);
  };
  return search(0, 0);
}

function areAlone(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === 1 && right.length === 1;
}

function prepared(before: readonly Value[], after: readonly Value[]) {
  const numbers = new LeafNumbers();
  return [elementsOf(before, [], numbers), elementsOf(after, [], numbers)] as const;
}
