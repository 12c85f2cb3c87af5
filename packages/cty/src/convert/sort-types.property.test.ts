import fc from "fast-check";
import { expect, it } from "vitest";
import { Type } from "../index.ts";
import { compareTypes } from "./compare-types.ts";
import { groupTypes, sortTypeGroups } from "./sort-types.ts";

const { string, number, bool, dynamic } = Type;

/** Types with long chains of "more general than" between them, and many that cannot be compared. */
const types = fc.array(
  fc.constantFrom<Type>(
    string,
    number,
    bool,
    dynamic,
    Type.list(string),
    Type.list(dynamic),
    Type.tuple([string]),
    Type.tuple([number]),
    Type.set(string),
    Type.set(number),
    Type.map(string),
    Type.object({ a: string }),
    Type.object({ a: number }),
    Type.object({ a: dynamic }),
  ),
  { maxLength: 12 },
);

/** The sort as it is defined: over every single type, equal ones included, and all pairs of them. */
function sortAll(all: readonly Type[]): Type[] {
  const lessGeneral: number[][] = all.map(() => []);
  const waiting = all.map(() => 0);
  for (const [i, a] of all.entries()) {
    for (const [j, b] of all.entries()) {
      if (j <= i) continue;
      const order = compareTypes(a, b);
      if (order === 0) continue;
      const [above, below] = order < 0 ? [i, j] : [j, i];
      lessGeneral[above]?.push(below);
      waiting[below] = (waiting[below] ?? 0) + 1;
    }
  }
  const queue = [...all.keys()].filter((i) => waiting[i] === 0);
  for (const i of queue) {
    for (const j of lessGeneral[i] ?? []) {
      waiting[j] = (waiting[j] ?? 0) - 1;
      if (waiting[j] === 0) queue.push(j);
    }
  }
  return queue.flatMap((i) => all[i] ?? []);
}

it("groups come in the order in which the sort of all types meets them first", () => {
  fc.assert(
    fc.property(types, (all) => {
      const met = [...new Set(sortAll(all))];
      expect(sortTypeGroups(groupTypes(all)).map((group) => group.type)).toEqual(met);
      expect(met).toHaveLength(new Set(all).size);
    }),
    { numRuns: Math.ceil(1000 * Number(process.env.STACKWRIGHT_RUNS ?? 1)) },
  );
});
