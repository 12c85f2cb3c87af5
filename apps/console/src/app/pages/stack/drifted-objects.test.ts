import { expect, it } from "vitest";
import { ignoredPlaces } from "./drifted-objects.ts";

const OBJECTS = [
  { address: "a", deleted: false, attributes: ["size", "tags"] },
  { address: "b", deleted: true, attributes: [] },
  { address: "a", deposed: "1f", deleted: false, attributes: ["size"] },
];

it("of several objects the attributes that differ are ignored, each once, or all of each", () => {
  expect(ignoredPlaces(OBJECTS, { isWhole: false })).toEqual([
    { address: "a", attribute: "size" },
    { address: "a", attribute: "tags" },
    { address: "b" },
  ]);
  expect(ignoredPlaces(OBJECTS, { isWhole: true })).toEqual([{ address: "a" }, { address: "b" }]);
});

it("of one object it is the chosen attribute or all", () => {
  const [a, b] = OBJECTS.map((one) => [one]);
  if (a === undefined || b === undefined) throw new Error("no objects");
  expect(ignoredPlaces(a, { attribute: "tags" })).toEqual([{ address: "a", attribute: "tags" }]);
  expect(ignoredPlaces(a, { attribute: "" })).toEqual([{ address: "a" }]);
  expect(ignoredPlaces(b, { attribute: "" })).toEqual([{ address: "b" }]);
});
