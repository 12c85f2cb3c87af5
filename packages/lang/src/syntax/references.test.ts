import { describe, expect, it } from "vitest";
import { outline } from "../testing/outline.ts";
import type { Expression } from "./ast.ts";
import { jsonExpression } from "./json-expression.ts";
import { parseJson } from "./json-parser.ts";
import { parseExpression, parseTraversal } from "./parse.ts";
import { expressionCalls, expressionReferences } from "./references.ts";
import { staticCall, staticKeyword, staticList, staticMap, staticTraversal } from "./static.ts";

const native = (text: string): Expression => parseExpression({ name: "t", text }).value;
const json = (text: string): Expression => jsonExpression(parseJson({ name: "t", text }).root, []);

describe("references", () => {
  it.each([
    ["a.b[0].c + d", ["a.b[0].c", "d"]],
    ['"x${a.b}%{ if c }${d}%{ endif }"', ["a.b", "c", "d"]],
    ["{a = b, (c) = d}", ["b", "c", "d"]],
    ["[for k, v in a : v.x + k + b if c]", ["a", "b", "c"]],
    ["{for v in v : v => v}", ["v"]],
    ["[for a in b : [for c in a : c + d]]", ["b", "d"]],
    ["a[b.c][*].d", ["a", "b.c"]],
    ["f(a, g(b...)...)", ["a", "b"]],
    ["[for x in a : x.y][0].z", ["a"]],
  ])("of %s", (text, expected) => {
    expect(expressionReferences(native(text)).map(outline).toSorted()).toEqual(expected);
  });

  it("stand with their range", () => {
    const [reference] = expressionReferences(native("1 + a.b[0]"));
    expect([reference?.start, reference?.end]).toEqual([4, 10]);
  });

  it("leave calls to expressionCalls", () => {
    expect(expressionCalls(native("f(g(1), [h()])")).map(({ name }) => name)).toEqual([
      "f",
      "g",
      "h",
    ]);
  });
});

describe("static reading", () => {
  it("reads lists and maps", () => {
    expect(staticList(native("[a, b]")).value?.map(outline)).toEqual(["a", "b"]);
    expect(staticList(json('["a.b"]')).value?.length).toBe(1);
    expect(staticList(native("f()")).diagnostics?.[0]?.code).toBe("LANG_STATIC");
    expect(staticMap(native("{a = b}")).value?.length).toBe(1);
    expect(staticMap(native("a")).diagnostics?.length).toBe(1);
  });

  it("reads calls, in strings of JSON files too", () => {
    expect(staticCall(native("list(string)")).value?.name).toBe("list");
    expect(staticCall(json('"list(string)"')).value?.name).toBe("list");
    expect(staticCall(json('"${list(string)}"')).diagnostics?.length).toBe(1);
    expect(staticCall(native("a")).diagnostics?.length).toBe(1);
  });

  it("reads references, in strings of JSON files too", () => {
    for (const expression of [native('a.b["c"]'), json('"a.b[\\"c\\"]"')]) {
      const { value } = staticTraversal(expression);
      expect(value && outline(value)).toBe('a.b["c"]');
    }
    expect(staticTraversal(native("a[b]")).diagnostics?.[0]?.code).toBe("LANG_STATIC");
    expect(staticTraversal(native("true")).value?.root).toBe("true");
    expect(staticTraversal(native("null.other")).value).toMatchObject({
      root: "null",
      rootEnd: 4,
      end: 10,
      steps: [{ kind: "attribute-step", name: "other" }],
    });
    expect(staticTraversal(native("(null).other")).diagnostics?.[0]?.code).toBe("LANG_STATIC");
  });

  it("reads words", () => {
    expect(staticKeyword(native("all"))).toBe("all");
    expect(staticKeyword(json('"all"'))).toBe("all");
    expect(staticKeyword(native("null"))).toBe("null");
    expect(staticKeyword(native("a.b"))).toBeUndefined();
    expect(staticKeyword(native('"all"'))).toBeUndefined();
  });

  it("points into the JSON file when a string does not parse", () => {
    const { diagnostics } = staticTraversal(json('"a..b"'));
    const subject = diagnostics?.[0]?.subject;
    expect(subject?.source.fileOffset(subject.start)).toBe(3);
  });
});

describe("parseTraversal", () => {
  it("accepts a reference alone", () => {
    const { value } = parseTraversal({ name: "t", text: 'module.a["b"].c' });
    expect(value && outline(value)).toBe('module.a["b"].c');
  });

  it.each([["a + b"], ["a[b]"], ["a[*]"], [""], ["a.b c"]])("refuses %j", (text) => {
    const { value, diagnostics } = parseTraversal({ name: "t", text });
    expect(value).toBeUndefined();
    expect(diagnostics.length).toBe(1);
  });
});
