import { expect, it } from "vitest";
import { evaluateLine } from "./console.ts";
import { consoleEntries, expressionContinues } from "./console-entry.ts";

it.each([
  "[1,",
  "{",
  'upper("a",',
  '"a${1 +',
  '"a${{',
  "<<EOT",
  "<<-EOT\n  x",
  "upper(<<EOT\nx\nEOT",
  "[1, # ]",
  '[1, "]',
  "<<EOT\n\n",
  "<<EOT\n${[\n\n",
])("%j continues", (text) => {
  expect(expressionContinues(text)).toBe(true);
});

it.each([
  "1",
  "[1]",
  "1 +",
  '"["',
  '"{',
  "]",
  "][",
  "<<EOT\nx [\nEOT",
  "# [",
  "[1,\n",
  "[1,\n  ",
  "",
])("%j does not continue", (text) => {
  expect(expressionContinues(text)).toBe(false);
});

it("joins the lines of an expression, an incomplete one at the end as well", async () => {
  const lines = [
    "1",
    "{",
    "  a = 2",
    "}",
    "",
    "<<EOT",
    "b",
    "",
    "c",
    "EOT",
    "[3,",
    "",
    "4]",
    "[5,",
  ];
  const entries: string[] = [];
  for await (const entry of consoleEntries(lines)) entries.push(entry);
  expect(entries).toEqual(["1", "{\n  a = 2\n}", "", "<<EOT\nb\n\nc\nEOT", "[3,\n", "4]", "[5,"]);
  expect(evaluateLine(entries[1] ?? "").json).toContain('{"a":2}');
  expect(evaluateLine(entries[3] ?? "").json).toContain('"b\\n\\nc\\n"');
});
