import { expect, it } from "vitest";
import { openSource } from "./open-source.ts";

it.each([
  ["little", [0xff, 0xfe], (text: string) => Buffer.from(text, "utf16le")],
  ["big", [0xfe, 0xff], (text: string) => Buffer.from(text, "utf16le").swap16()],
])("says once that a file is in UTF-16, %s end first", (_end, mark, encode) => {
  const text = Buffer.concat([Buffer.from(mark), encode('locals {\n  a = "b"\n}\n')]);
  const { source, problems } = openSource({ name: "main.tf", text }, undefined);
  expect(source.text).toBe("");
  expect(problems.diagnostics.map(({ code }) => code)).toEqual(["LANG_ENCODING"]);
  expect(problems.diagnostics[0]?.detail).toContain("UTF-16");
});

it("reads bytes that begin with the mark of UTF-8", () => {
  const text = Buffer.from("\ufefflocals {}\n");
  const { source, problems } = openSource({ name: "main.tf", text }, undefined);
  expect(problems.diagnostics).toEqual([]);
  expect(source.text).toContain("locals");
});
