import { describe, expect, it } from "vitest";
import type { Diagnostic } from "./diagnostic.ts";
import { sortDiagnostics, sourceRange } from "./diagnostic.ts";
import { parseFile } from "./parse.ts";
import { diagnosticToJson } from "./render-json.ts";
import { renderDiagnostic } from "./render-terminal.ts";
import { SourceFile } from "./source-file.ts";
import { didYouMean, suggestName } from "./suggestion.ts";

const file = parseFile({
  name: "main.tf",
  text: 'resource "a" "b" {\n  x = 1\n  größe = var.y + 2\n}\n',
});

const problem: Diagnostic = {
  severity: "error",
  code: "LANG_EXAMPLE",
  summary: "Something is wrong",
  detail:
    "This is a long explanation that has to be wrapped because it does not fit into one line of text.\n\n  an example stays as it is",
  subject: sourceRange(file.source, 37, 42),
  address: "a.b",
  values: [{ traversal: "var.y", statement: 'is "text"' }],
};
describe("the terminal renderer", () => {
  it("shows place, source, values and explanation", () => {
    expect(renderDiagnostic(problem, { width: 60 })).toMatchInlineSnapshot(`
      "╷
      │ Error: Something is wrong
      │
      │   with a.b,
      │   on main.tf line 3, in resource "a" "b":
      │    3:   größe = var.y + 2
      │                 ^^^^^
      │     ├────────────────
      │     │ var.y is "text"
      │
      │ This is a long explanation that has to be wrapped because
      │ it does not fit into one line of text.
      │
      │   an example stays as it is
      ╵
      "
    `);
  });

  it("uses colours only on request", () => {
    expect(renderDiagnostic(problem, { color: true })).toContain("\u001b[31m");
    expect(renderDiagnostic(problem)).not.toContain("\u001b");
  });

  it("shows control characters as symbols", () => {
    const source = new SourceFile("m\u001b[2J.tf", "a = \u001b[31m\u202e\n");
    const text = renderDiagnostic({ ...problem, subject: sourceRange(source, 4, 5) });
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    expect(text).toContain("␛[31m");
  });

  it("cuts very long lines around the subject", () => {
    const source = new SourceFile("m.json", `${"x".repeat(100_000)}!${"y".repeat(100_000)}`);
    const text = renderDiagnostic({ ...problem, subject: sourceRange(source, 100_000, 100_001) });
    expect(text.length).toBeLessThan(3000);
    expect(text).toContain("x!y");
  });
});

describe("the JSON renderer", () => {
  it("gives range, snippet with byte offsets, and values", () => {
    expect(diagnosticToJson(problem)).toEqual({
      severity: "error",
      code: "LANG_EXAMPLE",
      summary: "Something is wrong",
      detail: problem.detail,
      address: "a.b",
      range: {
        filename: "main.tf",
        start: { line: 3, column: 11, byte: 39 },
        end: { line: 3, column: 16, byte: 44 },
      },
      snippet: {
        context: 'resource "a" "b"',
        code: "  größe = var.y + 2",
        start_line: 3,
        highlight_start_offset: 12,
        highlight_end_offset: 17,
        values: [{ traversal: "var.y", statement: 'is "text"' }],
      },
    });
  });

  it("leaves out what is not known", () => {
    const { severity, code, summary, detail } = problem;
    expect(diagnosticToJson({ severity, code, summary, detail })).toEqual({
      severity,
      code,
      summary,
      detail,
    });
  });
});

describe("order", () => {
  it("is by file and position, errors before warnings", () => {
    const other = new SourceFile("a.tf", "abc");
    const at = (severity: Diagnostic["severity"], range?: Diagnostic["subject"]): Diagnostic => ({
      severity,
      code: "X",
      summary: "",
      detail: "",
      ...(range !== undefined && { subject: range }),
    });
    const first = at("error", sourceRange(other, 2, 3));
    const second = at("warning", sourceRange(other, 2, 3));
    const third = at("error", sourceRange(file.source, 0, 1));
    const none = at("error");
    expect(sortDiagnostics([third, second, none, first])).toEqual([none, first, second, third]);
  });
});

describe("suggestions", () => {
  it.each([
    ["lenght", "length"],
    ["Length", "length"],
    ["instence_type", "instance_type"],
    ["foo", undefined],
    ["xyz", undefined],
  ])("%s means %s", (given, expected) => {
    expect(suggestName(given, ["length", "instance_type", "bar"])).toBe(expected);
  });

  it("are put into a sentence", () => {
    expect(didYouMean("mpa", ["map"])).toBe(' Did you mean "map"?');
    expect(didYouMean("x", ["map"])).toBe("");
  });
});
