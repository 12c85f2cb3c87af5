import { expect, it } from "vitest";
import { append } from "./append.ts";

it("adds more items than a call can have arguments", () => {
  const list = [-1];
  append(
    list,
    Array.from({ length: 500_000 }, (_, index) => index),
  );
  expect(list.length).toBe(500_001);
  expect(list.at(-1)).toBe(499_999);
});

it("adds the items of an iterator, and none of an empty list", () => {
  const list: string[] = [];
  append(list, new Set(["a", "b"]));
  append(list, []);
  expect(list).toEqual(["a", "b"]);
});
