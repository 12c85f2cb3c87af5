import { expect, it } from "vitest";
import { bodyLines } from "./diff-lines.ts";

it("a value that stands alone has no comma behind it", () => {
  const value = { kind: "string", text: "a" } as const;
  expect(bodyLines({ kind: "add", value }).map(({ text }) => text)).toEqual(['"a"']);
});
