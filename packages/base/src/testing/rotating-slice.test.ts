import { expect, it } from "vitest";
import { rotatingSlice } from "./rotating-slice.ts";

const items = ["a", "b", "c", "d", "e"];

it("is the whole table without a seed", () => {
  expect(rotatingSlice(items, 3, undefined)).toEqual(items);
});

it("covers the table without overlap over as many seeds as there are parts", () => {
  const slices = ["7", "8", "9"].map((seed) => rotatingSlice(items, 3, seed));
  expect(slices.flat().toSorted()).toEqual(items);
});

it("is the whole table when there is one part", () => {
  expect(rotatingSlice(items, 1, "12345")).toEqual(items);
});
