import { describe, expect, it } from "vitest";
import { outlineBody } from "../testing/outline.ts";
import { parseFile } from "./parse.ts";

function tree(text: string): string {
  const { body, diagnostics } = parseFile({ name: "main.tf", text });
  expect(diagnostics).toEqual([]);
  return outlineBody(body);
}

/** Codes with line and column of the subject. */
function problems(text: string): string[] {
  const { source, diagnostics } = parseFile({ name: "main.tf", text });
  return diagnostics.map(({ code, subject }) => {
    const { line, column } = source.position(subject?.start ?? 0);
    return `${code} ${line}:${column}`;
  });
}

describe("bodies", () => {
  it.each([
    ["", ""],
    ["\n\n# only a comment", ""],
    ["a = 1\nb = 2", "a=1; b=2"],
    ['a "b" c {\n  d = 1\n}\n', 'a "b" "c"{d=1}'],
    ["a {}\nb {\n}\n", "a{}; b{}"],
    ["a { b = 1 }\n", "a{b=1}"],
    ["a { b = [\n1\n] }\n", "a{b=[1]}"],
    ["a = 1 # c\nb = 2 // c\nc /* x */ = /* y */ 3\n", "a=1; b=2; c=3"],
    ["a = 1\r\nb {\r\n}\r\n", "a=1; b{}"],
    ["\ufeffa = 1\n", "a=1"],
    ["für-größe = 1\n", "für-größe=1"],
    ['a "x\\ty" {}\n', 'a "x\\ty"{}'],
    ["a = <<E\nx\nE\nb = 1\n", 'a="x\\n"; b=1'],
  ])("%j", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });

  it("keep the order of arguments and blocks", () => {
    expect(tree("b {}\na = 1\nb {}\n")).toBe("b{}; a=1; b{}");
  });
});

describe("mistakes", () => {
  it.each([
    ["a", "LANG_BODY_ITEM 1:1"],
    ["a = 1 b = 2\n", "LANG_ARGUMENT_END 1:7"],
    ["a = 1, b = 2\n", "LANG_ARGUMENT_COMMA 1:6"],
    ["a = 1\na = 2\n", "LANG_ATTRIBUTE_DUPLICATE 2:1"],
    ["a =\nb = 1\n", "LANG_EXPRESSION 1:4"],
    ['"a" = 1\n', "LANG_ARGUMENT_NAME 1:1"],
    ["a = {} {}\n", "LANG_ARGUMENT_END 1:8"],
    ["a = b[*\n].c\n", "LANG_SPLAT 1:8"],
    ["a {\n", "LANG_BLOCK_UNCLOSED 1:3"],
    ["a {} b {}\n", "LANG_BLOCK_END 1:6"],
    ['a "b"\n{\n}\n', "LANG_BLOCK 1:6"],
    ['a "b" = 1\n', "LANG_BLOCK 1:7"],
    ['a "${b}" {}\n', "LANG_STRING_LITERAL 1:4"],
    ["a { b = 1, c = 2 }\n", "LANG_BLOCK_SINGLE_LINE 1:10"],
    ["a { b = 1\n}\n", "LANG_BLOCK_SINGLE_LINE 1:10"],
    ["a { b {} }\n", "LANG_BLOCK_SINGLE_LINE 1:5"],
    ["}\n", "LANG_BODY_ITEM 1:1"],
    ["/* a", "LANG_COMMENT 1:1"],
    ["a = 1; b = 2\n", "LANG_CHARACTER 1:6"],
    ["a = “b”\n", "LANG_CHARACTER 1:5"],
    ["a = 1\rb = 2\n", "LANG_CHARACTER 1:6"],
  ])("%j", (text, expected) => {
    expect(problems(text)[0]).toBe(expected);
  });

  it("gives every independent mistake of a file in one pass", () => {
    const text = `resource "a" "b" {
  x = [1 2, 3]
  y = "unclosed
  ok = 1
  v = "\${foo"
  n { a = 1, b = 2 }
}

variable x {
  default = a ? b
  type = list(string
}
output "o" {
  other = "a \${ b c } d"
}
}
locals {
  a = 1 +
  b = 2
}
`;
    expect(problems(text)).toEqual([
      "LANG_TUPLE_SEPARATOR 2:10",
      "LANG_STRING_NEWLINE 3:7",
      "LANG_STRING_NEWLINE 5:13",
      "LANG_BLOCK_SINGLE_LINE 6:12",
      "LANG_CONDITIONAL 10:18",
      "LANG_CALL_ARGUMENTS 12:1",
      "LANG_TEMPLATE_SEQUENCE 14:19",
      "LANG_BODY_ITEM 16:1",
      "LANG_EXPRESSION 18:10",
    ]);
  });

  it("keeps what it understood around a mistake", () => {
    const { body } = parseFile({ name: "m", text: "a {\n  b = [1 2\n  c = 3\n}\nd = 4\n" });
    expect(outlineBody(body)).toBe("a{b=[1]; c=3}; d=4");
  });

  it("stops reporting at the bound", () => {
    const text = "a b c\n".repeat(500);
    expect(problems(text).length).toBe(201);
    expect(problems(text).at(-1)).toMatch(/^LANG_LIMIT_ERRORS/);
  });
});
