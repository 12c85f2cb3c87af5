import { expect, it } from "vitest";
import { groupBy } from "./group-by.ts";

it("groups by the key, in the order of the first of each group", () => {
  const items = [5, 1, 4, 2, 5, 3];
  const keyOf = (item: number) => (item === 5 ? Number.NaN : item % 2);
  expect([...groupBy(items, keyOf)]).toEqual([
    [Number.NaN, [5, 5]],
    [1, [1, 3]],
    [0, [4, 2]],
  ]);
  expect([...groupBy([], keyOf)]).toEqual([]);
});
