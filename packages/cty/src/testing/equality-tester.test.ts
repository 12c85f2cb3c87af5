import { expect, it } from "vitest";
import { BigFloat, Mark, Marks, Path, Value } from "../index.ts";
import { ctyEquality } from "./index.ts";

expect.addEqualityTesters([ctyEquality]);

it("makes a test runner see differences that are inside", () => {
  expect({ value: Value.string("a") }).toEqual({ value: Value.string("a") });
  expect({ value: Value.string("a") }).not.toEqual({ value: Value.string("b") });
  expect(Value.string("a").mark(Mark.sensitive)).not.toEqual(Value.string("a"));
  expect([BigFloat.fromNumber(0.5)]).not.toEqual([BigFloat.fromNumber(0.25)]);
  expect([BigFloat.fromNumber(0.5)]).not.toEqual([BigFloat.parse("0.5")]);
  expect(Path.root.index(1)).toEqual(Path.root.index(Value.number(1)));
  expect(Path.root.index(1)).not.toEqual(Path.root.index(2));
  expect({ marks: Marks.of(Mark.sensitive) }).not.toEqual({ marks: Marks.none });
  expect(Value.string("a")).not.toEqual("a");
  expect({ other: 1 }).toEqual({ other: 1 });
});
