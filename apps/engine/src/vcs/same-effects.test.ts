import { expect, it } from "vitest";
import { readExactly } from "./same-effects.ts";

it("tells large numbers of plans apart", () => {
  const plan = (id: string): string => `{"changes": [{"after": {"account": ${id}, "word": "x"}}]}`;
  const first = readExactly(plan("12345678901234567890"));
  expect(first).toEqual(readExactly(plan("12345678901234567890")));
  expect(first).not.toEqual(readExactly(plan("12345678901234567891")));
  expect(readExactly(plan("1"))).not.toEqual(readExactly(plan('"1"')));
});
