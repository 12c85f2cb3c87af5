import { expect, it } from "vitest";
import { oldestNode } from "./older-nodes.ts";

it("reads the first Node of a range", () => {
  expect(oldestNode(">=20.16")).toBe(20);
  expect(oldestNode(">=24")).toBe(24);
  expect(oldestNode(undefined)).toBe(Number.POSITIVE_INFINITY);
});
