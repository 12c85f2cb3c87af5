import { describe, expect, it } from "vitest";
import { resolveSyntaxLimits } from "./limits.ts";
import { parseExpression, parseFile, parseTemplate } from "./parse.ts";
import { expressionReferences } from "./references.ts";

const codes = (text: string, limits = {}): string[] =>
  parseFile({ name: "t", text }, limits).diagnostics.map(({ code }) => code);

describe("limits on hostile input", () => {
  it("refuses a large file without reading it", () => {
    const text = new Uint8Array(2000).fill(0x61);
    const { diagnostics } = parseFile({ name: "t", text }, { maxBytes: 1000 });
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_LIMIT_BYTES"]);
  });

  it("refuses too many tokens", () => {
    expect(codes("a = 1\n".repeat(100), { maxTokens: 50 })).toContain("LANG_LIMIT_TOKENS");
  });

  it.each([
    ["parentheses", `a = ${"(".repeat(50_000)}`],
    ["brackets", `a = ${"[".repeat(50_000)}`],
    ["braces", `a = ${"{a=".repeat(50_000)}`],
    ["loops", `a = ${"[for a in ".repeat(50_000)}`],
    ["calls", `a = ${"f(".repeat(50_000)}`],
    ["signs", `a = ${"-".repeat(50_000)}1`],
    ["conditionals", `a = ${"a ? ".repeat(50_000)}`],
    ["interpolations", `a = ${'"${'.repeat(50_000)}`],
    ["directives", `a = "${"%{if a}".repeat(50_000)}"`],
    ["splats", `a = a${"[*]".repeat(50_000)}`],
    ["operators", `a = 1${" + 1".repeat(50_000)}`],
    ["indexes", `a = a${"[b]".repeat(50_000)}`],
    ["blocks", "a {\n".repeat(50_000)],
  ])("refuses deep nesting of %s", (_, text) => {
    expect(codes(text)).toEqual(["LANG_LIMIT_DEPTH"]);
  });

  it("bounds the height of trees that lean to both sides", () => {
    // ((( a +a+a... ) +a+a... ) +a+a... ): neither nested nor chained too deeply, but high.
    const level = (inner: string): string => `(${inner}${" + a".repeat(100)})`;
    let text = "a";
    for (let depth = 0; depth < 20; depth++) text = level(text);
    const { diagnostics } = parseExpression({ name: "t", text });
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_LIMIT_DEPTH"]);
  });

  it("reads and walks what is just within the limit", () => {
    const text = `${"(".repeat(499)}a${")".repeat(499)}`;
    const { value, diagnostics } = parseExpression({ name: "t", text });
    expect(diagnostics).toEqual([]);
    expect(expressionReferences(value).length).toBe(1);
  });

  it.each([
    ["interpolations", "${a}"],
    ["interpolations with text", "x ${a} "],
    ["conditions", "%{if a}x%{endif}"],
  ])("takes a template of very many %s", (_, part) => {
    const { value, diagnostics } = parseTemplate({ name: "t", text: part.repeat(150_000) });
    expect(diagnostics).toEqual([]);
    expect(expressionReferences(value).length).toBe(150_000);
  });

  it("takes long flat things", () => {
    expect(codes(`a = [${"1, ".repeat(100_000)}]`)).toEqual([]);
    expect(codes(`a = a${".b".repeat(100_000)}`)).toEqual([]);
    const template = parseTemplate({ name: "t", text: "${a} ".repeat(50_000) });
    expect(template.diagnostics).toEqual([]);
  });

  it("refuses limits that are none", () => {
    expect(() => resolveSyntaxLimits({ maxDepth: 0 })).toThrow(RangeError);
    expect(() => resolveSyntaxLimits({ maxBytes: Number.NaN })).toThrow(RangeError);
  });
});
