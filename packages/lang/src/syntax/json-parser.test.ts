import { describe, expect, it } from "vitest";
import { outline } from "../testing/outline.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { jsonExpression } from "./json-expression.ts";
import { parseJson } from "./json-parser.ts";

function tree(text: string): string {
  const { root, diagnostics } = parseJson({ name: "t.json", text });
  const found: Diagnostic[] = [...diagnostics];
  const expression = outline(jsonExpression(root, found));
  expect(found).toEqual([]);
  return expression;
}

function problems(text: string): string[] {
  const { diagnostics } = parseJson({ name: "t.json", text });
  return diagnostics.map(({ code, subject }) => `${code} ${subject?.start}-${subject?.end}`);
}

describe("values", () => {
  it.each([
    [" null ", "null"],
    ["true", "true"],
    ["-12.50e+3", "-12.50e+3"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ['"a\\u00e9\\ud83d\\ude00\\/"', 'json("aé😀/")'],
    ['"${a.b}"', "json(wrap(a.b))"],
    ['"a ${b} $${c}"', 'json(template("a " b " ${c}"))'],
    ["[]", "[]"],
    ["[1, [2], {}]", "[1 [2] {}]"],
    ['{"a": 1, "${b}": "c"}', '{(json("a"))=1 (json(wrap(b)))=json("c")}'],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });

  it("keeps repeated names in order", () => {
    expect(tree('{"a": 1, "b": 2, "a": 3}')).toBe('{(json("a"))=1 (json("b"))=2 (json("a"))=3}');
  });

  it("takes halves of surrogate pairs as replacement characters", () => {
    expect(tree('"\\ud800x"')).toBe('json("\ufffdx")');
  });

  it("finds mistakes in templates at their place in the file", () => {
    const found: Diagnostic[] = [];
    jsonExpression(parseJson({ name: "t", text: '{"a": "\\t${b c}"}' }).root, found);
    const [problem] = found;
    expect(problem?.code).toBe("LANG_TEMPLATE_SEQUENCE");
    expect(
      problem?.subject?.source.locate(problem.subject.start, problem.subject.end),
    ).toMatchObject({
      start: { offset: 13 },
      end: { offset: 14 },
    });
  });
});

describe("mistakes", () => {
  it.each([
    ["", ["LANG_JSON 0-0"]],
    ["\ufeff{}", ["LANG_JSON 0-1"]],
    ["{", ["LANG_JSON 1-2"]],
    ["[1", ["LANG_JSON 0-1"]],
    ["[1 2]", ["LANG_JSON 3-4"]],
    ["[1,]", ["LANG_JSON 2-3"]],
    ['{"a" 1}', ["LANG_JSON 5-6"]],
    ['{"a": 1,}', ["LANG_JSON 7-8"]],
    ["{a: 1}", ["LANG_JSON 1-2"]],
    ["1 2", ["LANG_JSON 2-3"]],
    ["01", ["LANG_JSON_NUMBER 0-2"]],
    ["+1", ["LANG_JSON_NUMBER 0-2"]],
    ["1.", ["LANG_JSON_NUMBER 0-2"]],
    ["0x1F", ["LANG_JSON_NUMBER 0-4"]],
    ["1e99999", ["LANG_LIMIT_NUMBER 0-7"]],
    ["True", ["LANG_JSON_KEYWORD 0-4"]],
    ["'a'", ["LANG_JSON 0-1"]],
    ['"a', ["LANG_JSON_STRING 0-2"]],
    ['"a\tb"', ["LANG_JSON_STRING 2-3"]],
    ['"\\x"', ["LANG_JSON_STRING 1-3"]],
    ['"\\u12"', ["LANG_JSON_STRING 1-3"]],
  ])("%j", (text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  it("gives every mistake of a file in one pass", () => {
    expect(problems('{"a": tru, "b": [1 2], "c": {"d" 1}, "e": 01, "f": 1}')).toEqual([
      "LANG_JSON_KEYWORD 6-9",
      "LANG_JSON 19-20",
      "LANG_JSON 33-34",
      "LANG_JSON_NUMBER 42-44",
    ]);
  });

  it("bounds nesting and the number of values", () => {
    const nested = "[".repeat(100_000);
    expect(parseJson({ name: "t", text: nested }).diagnostics.map(({ code }) => code)).toEqual([
      "LANG_LIMIT_DEPTH",
    ]);
    const many = `[${"1,".repeat(100)}1]`;
    expect(
      parseJson({ name: "t", text: many }, { maxTokens: 50 }).diagnostics.map(({ code }) => code),
    ).toEqual(["LANG_LIMIT_TOKENS"]);
  });
});
