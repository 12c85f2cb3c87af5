import { expect, it } from "vitest";
import { repeatsName } from "./repeats-name.ts";

it.each([
  '{"a":1,"a":2}',
  String.raw`{"a":1,"\u0061":2}`,
  '[{"b":{"c":[{"x":1,"y":"{","x":1}]}}]',
  '{"a":[1,2],"b":{},"a":3}',
])("an object has a name twice: %s", (text) => {
  expect(repeatsName(text)).toBe(true);
});

it.each([
  '{"a":{"a":1},"b":{"a":1}}',
  '["a","a",{"a":"a"},{"a":"a"}]',
  String.raw`{"a":"\",\"a\":1","b":","}`,
])("no object has a name twice: %s", (text) => {
  expect(repeatsName(text)).toBe(false);
});
