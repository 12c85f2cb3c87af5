import { describe, expect, it } from "vitest";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseFile } from "../syntax/parse.ts";
import { outline } from "../testing/outline.ts";
import {
  type BodyContent,
  type BodySchema,
  type ConfigBody,
  jsonRootBody,
  readAttributes,
  readBody,
} from "./body-content.ts";

const SCHEMA: BodySchema = {
  attributes: ["a", "b"],
  blocks: { plain: [], one: ["name"], two: ["type", "name"] },
};

function native(text: string): { body: ConfigBody; diagnostics: Diagnostic[] } {
  const { body, diagnostics } = parseFile({ name: "t.tf", text });
  return { body, diagnostics: [...diagnostics] };
}

function json(text: string): { body: ConfigBody; diagnostics: Diagnostic[] } {
  const { root, diagnostics } = parseJson({ name: "t.tf.json", text });
  const found = [...diagnostics];
  return { body: jsonRootBody(root, found), diagnostics: found };
}

function show({ attributes, blocks }: BodyContent): string[] {
  const left = [...attributes.values()].map(
    ({ name, expression }) => `${name}=${outline(expression).replace(/json\((.*)\)/, "$1")}`,
  );
  const right = blocks.map(({ type, labels, body }) => {
    const inner = show(readBody(body, SCHEMA, []));
    return `${[type, ...labels.map(({ value }) => value)].join(".")}{${inner.join(" ")}}`;
  });
  return [...left, ...right];
}

it("reads the names of its arguments once, however many there are", () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `a${index}`);
  let reads = 0;
  const attributes = new Proxy(names, {
    get: (target, key, receiver) => {
      if (typeof key === "string" && /^[0-9]+$/.test(key)) reads += 1;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  const { body, diagnostics } = native(names.map((name) => `${name} = 1\n`).join(""));
  const read = readBody(body, { attributes }, diagnostics);
  expect([read.attributes.size, diagnostics]).toEqual([names.length, []]);
  expect(reads).toBeLessThanOrEqual(2 * names.length);
});

describe("pairs that mean the same", () => {
  it.each([
    ['a = "x"', '{ "a": "x" }'],
    ["a = var.x\nb = 1.50", '{ "a": "${var.x}", "//": "a comment", "b": 1.50 }'],
    ["plain {}\nplain {\n a = 1\n}", '{ "plain": [{}, { "a": 1 }] }'],
    ['one "x" {\n a = 1\n}', '{ "one": { "x": { "a": 1 } } }'],
    ['one "x" {\n a = 1\n}\none "y" {}', '{ "one": [{ "x": { "a": 1 } }, { "y": {} }] }'],
    ['one "x" {}\none "x" {}', '{ "one": { "x": [{}, {}] } }'],
    ['two "t" "n" {\n plain {}\n}', '{ "two": { "t": { "n": { "plain": {} } } } }'],
    ['two "t" "n" {}\ntwo "t" "m" {}', '[{ "two": { "t": [{ "n": {} }, { "m": {} }] } }]'],
    ["", '{ "plain": null, "one": null }'],
  ])("%j and %j", (hcl, jsonText) => {
    const [a, b] = [native(hcl), json(jsonText)];
    const left = show(readBody(a.body, SCHEMA, a.diagnostics));
    const right = show(readBody(b.body, SCHEMA, b.diagnostics));
    expect([a.diagnostics, b.diagnostics]).toEqual([[], []]);
    expect(right.map((line) => line.replace("wrap(var.x)", "var.x"))).toEqual(left);
  });
});

describe("what does not fit", () => {
  it.each([
    ["c = 1", "Unsupported argument"],
    ["plain = 1", "Unsupported argument"],
    ["aa {}", "Unsupported block type"],
    ["a {}", "Unsupported block type"],
    ["one {}", "Missing name for one"],
    ['plain "x" {}', "Extraneous label for plain"],
  ])("%j", (text, summary) => {
    const { body, diagnostics } = native(text);
    readBody(body, SCHEMA, diagnostics);
    expect(diagnostics.map((diagnostic) => diagnostic.summary)).toEqual([summary]);
  });

  it.each([
    ['{ "c": 1 }', "Extraneous JSON object property"],
    ['{ "a": 1, "a": 2 }', "Duplicate argument"],
    ['{ "one": {} }', "Missing block label"],
    ['{ "one": { "x": 1 } }', "Incorrect JSON value type"],
    ['{ "plain": ["x"] }', "Incorrect JSON value type"],
    ["[1]", "Root value must be object"],
  ])("%s", (text, summary) => {
    const { body, diagnostics } = json(text);
    readBody(body, SCHEMA, diagnostics);
    expect(diagnostics.map((diagnostic) => diagnostic.summary)).toEqual([summary]);
  });

  it("is reported for missing arguments", () => {
    for (const { body, diagnostics } of [native("b = 1"), json('{ "b": 1 }')]) {
      readBody(body, { ...SCHEMA, required: ["a"] }, diagnostics);
      expect(diagnostics.map(({ summary }) => summary)).toEqual(["Missing required argument"]);
    }
  });

  it("may belong to another reader", () => {
    const { body, diagnostics } = native("a = 1\nc = 2\nother {}");
    expect(show(readBody(body, SCHEMA, diagnostics, { ignore: true }))).toEqual(["a=1"]);
    readBody(body, SCHEMA, diagnostics, { ignore: new Set(["c", "other"]) });
    expect(diagnostics).toEqual([]);
  });
});

describe("readAttributes", () => {
  it("takes any names and no blocks", () => {
    const { body, diagnostics } = native("x = 1\ny = 2\nz {}");
    expect([...readAttributes(body, diagnostics).keys()]).toEqual(["x", "y"]);
    expect(diagnostics.map(({ summary }) => summary)).toEqual(["Unsupported block type"]);
    const other = json('{ "x": 1, "//": "no", "y": {} }');
    expect([...readAttributes(other.body, other.diagnostics).keys()]).toEqual(["x", "y"]);
    expect(other.diagnostics).toEqual([]);
  });
});
