import { describe, expect, it } from "vitest";
import { outline } from "../testing/outline.ts";
import { parseExpression } from "./parse.ts";

function tree(text: string): string {
  const { value, diagnostics } = parseExpression({ name: "test", text });
  expect(diagnostics).toEqual([]);
  return outline(value);
}

function problems(text: string): string[] {
  const { diagnostics } = parseExpression({ name: "test", text });
  return diagnostics.map(({ code, subject }) => `${code} ${subject?.start}-${subject?.end}`);
}

describe("operators", () => {
  it.each([
    ["1 + 2 * 3 - 4 / 5 % 6", "((1 + (2 * 3)) - ((4 / 5) % 6))"],
    ["a || b && c == d", "(a || (b && (c == d)))"],
    ["a == b < c", "(a == (b < c))"],
    ["a < b + c", "(a < (b + c))"],
    ["a - b - c", "((a - b) - c)"],
    ["-a.b", "(-a.b)"],
    ["-46 + 5", "((-46) + 5)"],
    ["!a && !b", "((!a) && (!b))"],
    ["!!a", "(!(!a))"],
    ["- -1", "(-(-1))"],
    ["a-b", "a-b"],
    ["a -b", "(a - b)"],
    ["(a + b) * c", "(paren((a + b)) * c)"],
    ["a ? b : c ? d : e", "if(a b if(c d e))"],
    ["a ? b ? c : d : e", "if(a if(b c d) e)"],
    ["a || b ? c && d : e", "if((a || b) (c && d) e)"],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });
});

describe("steps", () => {
  it.each([
    ['a.b[0]["x"].c', 'a.b[0]["x"].c'],
    ["a.0.b", "a[0].b"],
    ["a[b.c]", "index(a b.c)"],
    ["a[-1]", "index(a (-1))"],
    ['a["x${y}"]', 'index(a template("x" y))'],
    ["f(x).a[0]", "(f(x)).a[0]"],
    ["a[b][0]", "(index(a b))[0]"],
    ["[1, 2][0]", "([1 2])[0]"],
    ["a[*].b[0].c", "splat(a (@).b[0].c)"],
    ["a.*.b[0].c", "(splat(a (@).b))[0].c"],
    ["a.*.b.0.c", "splat(a (@).b[0].c)"],
    ["a[*]", "splat(a @)"],
    ["a.*", "splat(a @)"],
    ["a[*].b[*].c", "splat(a splat((@).b (@).c))"],
    ["a[\n  0\n]", "a[0]"],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });
});

describe("constructors", () => {
  it.each([
    ["[]", "[]"],
    ["[1, 2,]", "[1 2]"],
    ["[\n1,\n2\n]", "[1 2]"],
    ["{}", "{}"],
    ["{a = 1, b : 2}", "{a=1 b=2}"],
    ["{\n a = 1\n b = 2,\n\n c = 3\n}", "{a=1 b=2 c=3}"],
    [
      '{(a) = 1, "b" = 2, true = 3, null = 4, 5 = 6, a.b = 7}',
      '{(paren(a))=1 ("b")=2 true=3 null=4 (5)=6 (a.b)=7}',
    ],
    ["[for v in c : v]", "for(v in c: v)"],
    ["[for k, v in c : v if v > k]", "for(k,v in c: v if (v > k))"],
    ["{for k, v in c : k => v}", "for(k,v in c: k=>v)"],
    ["{\nfor v in c :\n v => 1... \nif x\n}", "for(v in c: v=>1... if x)"],
    ["{(for) = 1}", "{(paren(for))=1}"],
    ['{"for" = 1}', '{("for")=1}'],
    ["f()", "f()"],
    ["f(\n a,\n b,\n)", "f(a b)"],
    ["f(a, b...)", "f(a b...)"],
    ["provider::local::f(1)", "provider::local::f(1)"],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });
});

describe("numbers", () => {
  it.each([
    ["1e3", "1e3"],
    ["1.5E-3", "1.5E-3"],
    ["9007199254740993", "9007199254740993"],
    ["1.e2", "1.e2"],
  ])("%s keeps its text", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });

  it.each([
    ["1..2", "LANG_NUMBER 0-4"],
    ["1.2.3", "LANG_NUMBER 0-5"],
    ["1e999999999", "LANG_LIMIT_NUMBER 0-11"],
    ["1e-999999999", "LANG_LIMIT_NUMBER 0-12"],
  ])("%s is refused", (text, expected) => {
    expect(problems(text)).toEqual([expected]);
  });
});

describe("mistakes", () => {
  it.each([
    ["", "LANG_EXPRESSION_MISSING 0-0"],
    ["1 +", "LANG_EXPRESSION_MISSING 3-3"],
    ["a b", "LANG_EXPRESSION_EXTRA 2-3"],
    ["[1 2]", "LANG_TUPLE_SEPARATOR 3-4"],
    ["[1\n2]", "LANG_TUPLE_SEPARATOR 3-4"],
    ["[1", "LANG_TUPLE_UNTERMINATED 0-1"],
    ["{a 1}", "LANG_OBJECT_KEY 3-4"],
    ["{a}", "LANG_OBJECT_KEY 2-3"],
    ["{a\n}", "LANG_OBJECT_VALUE 2-3"],
    ["{a = 1 b = 2}", "LANG_OBJECT_SEPARATOR 7-8"],
    ["{a = 1", "LANG_OBJECT_UNTERMINATED 0-1"],
    ["{for = 1}", "LANG_FOR 5-6"],
    ["{for v in c : v}", "LANG_FOR 14-15"],
    ["[for v in c : v => 1]", "LANG_FOR 14-15"],
    ["[for v in c : v...]", "LANG_FOR 15-18"],
    ["[for v of c : v]", "LANG_FOR 7-9"],
    ["[for v in c]", "LANG_FOR 11-12"],
    ["f(a b)", "LANG_CALL_ARGUMENTS 4-5"],
    ["f(a..., b)", "LANG_CALL_ARGUMENTS 6-7"],
    ["f(a", "LANG_CALL_UNTERMINATED 0-2"],
    ["a::b", "LANG_FUNCTION_NAME 4-4"],
    ["a::1()", "LANG_FUNCTION_NAME 3-4"],
    ["(a", "LANG_PARENTHESES 2-2"],
    ["(a]", "LANG_PARENTHESES 2-3"],
    ["a ? b", "LANG_CONDITIONAL 5-5"],
    ["a.", "LANG_ATTRIBUTE_NAME 2-2"],
    ["a.0.1", "LANG_LEGACY_INDEX 2-5"],
    ["a[0", "LANG_INDEX_BRACKET 3-3"],
    ["a[* 1]", "LANG_SPLAT 4-5"],
    ["a.*.b.*", "LANG_SPLAT 6-7"],
    ["a & b", "LANG_OPERATOR 2-3"],
    ["'a'", "LANG_CHARACTER 0-1"],
    ["a ** b", "LANG_EXPRESSION 3-4"],
  ])("%j gives one problem at its place", (text, expected) => {
    expect(problems(text)[0]).toBe(expected);
  });

  it("reports one mistake once", () => {
    expect(problems("[1 2, f(a b), {c d}]")).toEqual(["LANG_TUPLE_SEPARATOR 3-4"]);
  });
});
