import { expect, it } from "vitest";
import { readIds } from "./unresolved-classes.ts";

it("takes the first equals sign outside of a key for the end of the address", () => {
  expect([...readIds(['a.b["x=y"]=i-1=2', "# a comment", "", "c.d = 3"])]).toEqual([
    ['a.b["x=y"]', "i-1=2"],
    ["c.d", "3"],
  ]);
});

it("takes one id for an object, and one for each part of a component", () => {
  expect([...readIds(["a.b=t:i:T::x=1", "a.b=t:i:T::y=2", "a.b=t:i:T::z=3"])]).toEqual([
    ["a.b", "t:i:T::x=1\nt:i:T::y=2\nt:i:T::z=3"],
  ]);
  expect(() => readIds(["a.b=1", "a.b=2"])).toThrow("two ids for a.b");
  expect(() => readIds(["a.b=t:i:T::x=1", "a.b=2"])).toThrow("two ids for a.b");
});
