import { describe, expect, it } from "vitest";
import { extractJsonParts, insertJsonParts } from "./json-parts.ts";

const TEXT = '{ "a" : [1, {"b\\"c": "x\\u0041]"}, 3.14000], "n":90071992547409931234 , "e":{}}';

describe("parts of a JSON text", () => {
  it("are taken out and put back byte by byte", () => {
    const cut = extractJsonParts(TEXT, [["a", 1, 'b"c'], ["n"]]);
    expect(cut.json).toBe('{ "a" : [1, {"b\\"c": null}, 3.14000], "n":null , "e":{}}');
    expect(cut.parts).toEqual([
      { at: ["a", 1, 'b"c'], written: ["a", 1, 'b"c'], text: '"x\\u0041]"' },
      { at: ["n"], written: ["n"], text: "90071992547409931234" },
    ]);
    expect(insertJsonParts(cut.json, cut.parts)).toBe(TEXT);
  });

  it("are the outermost ones where paths lie within each other", () => {
    const { parts } = extractJsonParts(TEXT, [["a", 1, 'b"c'], ["a"], ["a", 2]]);
    expect(parts.map(({ at }) => at)).toEqual([["a"]]);
  });

  it.each([
    ["a member that is not there", [["a", 1, "z"]], ["a", 1]],
    ["an element that is not there", [["a", 9]], ["a"]],
    ["a step into a text", [["n", "x"]], ["n"]],
    ["the text itself", [[]], []],
  ])("grow to what a path surely leads through: %s", (_title, paths, expected) => {
    const { parts } = extractJsonParts(TEXT, paths);
    expect(parts.map(({ at }) => at)).toEqual([expected]);
  });

  it("are whole objects where a type may stand beside its value", () => {
    const text = '{"x":{"type":["object",{"type":"string"}],"value":{"type":"secret"}}}';
    const { json, parts } = extractJsonParts(text, [["x", "type"]]);
    expect(json).toBe('{"x":null}');
    expect(insertJsonParts(json, parts)).toBe(text);
  });

  it("are whole objects where a name occurs twice", () => {
    expect(extractJsonParts('{"o":{"a":1,"a":2}}', [["o", "a"]]).json).toBe('{"o":null}');
  });

  it("need their place to be put back", () => {
    expect(() => insertJsonParts('{"a":1}', [{ at: ["a"], text: "2" }])).toThrow(SyntaxError);
    expect(() => insertJsonParts('{"a":1}', [{ at: ["b"], text: "2" }])).toThrow(SyntaxError);
  });
});
