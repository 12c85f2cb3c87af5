import { expect, it } from "vitest";
import { blockContext } from "./block-context.ts";
import { sourceRange } from "./diagnostic.ts";
import { parseJson } from "./json-parser.ts";
import { jsonTextSource } from "./json-tree.ts";
import { SourceFile } from "./source-file.ts";

/** The context of the first place of a text in a file. */
function contextOf(name: string, text: string, part: string): string | undefined {
  const start = text.indexOf(part);
  expect(start).toBeGreaterThanOrEqual(0);
  return blockContext(sourceRange(new SourceFile(name, text), start, start + part.length));
}

const NATIVE = `\ufeffresource "a" "größe" {
  x = 1
  inner { y = 2 }
}
locals { z = 3 }
top = 4
broken "b" {
  v = 5
}
data a "b" {
  w = 6
`;

it.each([
  ["x = 1", 'resource "a" "größe"'],
  ["y = 2", 'resource "a" "größe"'],
  ['"a" "gr', 'resource "a" "größe"'],
  ["{\n  x", 'resource "a" "größe"'],
  ['resource "a"', undefined],
  ["z = 3", "locals"],
  ["top", undefined],
  ["v = 5", 'broken "b"'],
  ["w = 6", 'data "a" "b"'],
])("names the top-level block of %j", (part, context) => {
  expect(contextOf("main.tf", NATIVE, part)).toBe(context);
});

const JSON_FILE = `{"resource": {"a": {"b": [{"x": "\${one}"}, {"y": [1, "\${two}"]}]}},
"locals": [{"z": "\${three}"}], "output": {"o": {"value": 4}}}`;

it.each([
  ["${one}", "resource.a.b[0]"],
  ["${two}", "resource.a.b[1].y"],
  ["${three}", "locals[0]"],
  ["[{", "resource.a"],
  ["4}", "output.o"],
  ['"output"', undefined],
])("names the path of %j in a JSON file", (part, context) => {
  expect(contextOf("main.tf.json", JSON_FILE, part)).toBe(context);
});

it("names the path of what is written in a JSON string, behind its escapes", () => {
  const text = '{"locals": {"a": "\\u0041\\n${b}"}}';
  const source = new SourceFile("x.tf.json", text);
  const { root } = parseJson(source);
  if (root.kind !== "object") throw new Error("not an object");
  const locals = root.members[0]?.value;
  if (locals?.kind !== "object") throw new Error("not an object");
  const value = locals.members[0]?.value;
  if (value?.kind !== "string") throw new Error("not a string");
  const start = value.value.indexOf("b}");
  expect(blockContext(sourceRange(jsonTextSource(value), start, start + 1))).toBe("locals");
});

it("says nothing of files that are not configurations", () => {
  expect(contextOf("page.tftpl", "server {\n ${x}\n}\n", "${x}")).toBeUndefined();
  expect(contextOf("<console-input>", "a {\n b = 1\n}\n", "b")).toBeUndefined();
});
