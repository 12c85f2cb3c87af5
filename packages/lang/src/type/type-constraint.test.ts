import { convert, encodeJson, typeExpression, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { evaluate } from "../eval/evaluate.ts";
import { jsonExpression } from "../syntax/json-expression.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseExpression } from "../syntax/parse.ts";
import { type ParsedTypeConstraint, parseTypeConstraint } from "./type-constraint.ts";
import { applyTypeDefaults } from "./type-defaults.ts";

function constraint(text: string): ParsedTypeConstraint {
  return parseTypeConstraint(parseExpression({ name: "t", text }).value);
}

function valueOf(text: string): Value {
  return evaluate(parseExpression({ name: "t", text }).value, consoleScope()).value;
}

/** The value as the type, defaults applied, as JSON. */
function shaped(type: string, value: string): unknown {
  const { type: wanted, defaults, diagnostics } = constraint(type);
  expect(diagnostics).toEqual([]);
  return JSON.parse(encodeJson(convert(applyTypeDefaults(valueOf(value), defaults), wanted)));
}

describe("type constraints", () => {
  it.each([
    ["string", "string"],
    ["any", "any"],
    ["list", "list(any)"],
    ["map(number)", "map(number)"],
    ["set(list(bool))", "set(list(bool))"],
    ["tuple([string, any])", "tuple([string,any])"],
    ['object({ a = string, "b" = map(any) })', "object({a=string,b=map(any)})"],
  ])("%s", (text, expected) => {
    const { type, diagnostics } = constraint(text);
    expect(diagnostics).toEqual([]);
    expect(typeExpression(type)).toBe(expected);
  });

  it.each([
    "strng",
    "object",
    "list()",
    "list(string, number)",
    "string(1)",
    "foo(string)",
    "optional(string)",
    "1",
    '"string"',
    "tuple(string)",
    "object([string])",
    "object({ a = string, a = number })",
    "object({ (a) = string })",
    "object({ a = optional() })",
    "object({ a = optional(string, [], 1) })",
    'object({ a = optional(number, "x") })',
    "object({ a = optional(number, var.x) })",
    "list(nope)",
  ])("%s is refused", (text) => {
    expect(constraint(text).diagnostics.length).toBeGreaterThan(0);
  });

  it("are read from the text of JSON strings, but not from templates in them", () => {
    const read = (json: string): ParsedTypeConstraint =>
      parseTypeConstraint(jsonExpression(parseJson({ name: "t", text: json }).root, []));
    expect(typeExpression(read('"list(string)"').type)).toBe("list(string)");
    expect(read('"${list(string)}"').diagnostics.map(({ summary }) => summary)).toEqual([
      "Invalid type specification",
    ]);
  });

  it("suggest the type that was meant", () => {
    expect(constraint("strng").diagnostics[0]?.detail).toContain('Did you mean "string"?');
  });
});

describe("defaults", () => {
  const service = `object({
    name = string
    port = optional(number, 8080)
    protocol = optional(string)
    limits = optional(object({ cpu = optional(string, "500m"), extra = optional(map(number)) }), {})
    tags = optional(set(string), ["default"])
  })`;

  it("fill missing and null attributes, at every depth", () => {
    expect(shaped(service, '{ name = "a" }')).toEqual({
      name: "a",
      port: 8080,
      protocol: null,
      limits: { cpu: "500m", extra: null },
      tags: ["default"],
    });
    expect(
      shaped(
        service,
        '{ name = "a", port = null, limits = { extra = { gpu = "1" } }, tags = [], x = 1 }',
      ),
    ).toEqual({
      name: "a",
      port: 8080,
      protocol: null,
      limits: { cpu: "500m", extra: { gpu: 1 } },
      tags: [],
    });
  });

  it("reach into lists, maps and tuples", () => {
    expect(
      shaped("list(object({ a = optional(number, 1) }))", '[{}, { a = "5" }, { a = null }]'),
    ).toEqual([{ a: 1 }, { a: 5 }, { a: 1 }]);
    expect(
      shaped('map(object({ t = optional(tuple([number, string]), [1, "x"]) }))', "{ k = {} }"),
    ).toEqual({
      k: { t: [1, "x"] },
    });
    expect(shaped("tuple([any, object({ a = optional(bool, true) })])", "[1, {}]")).toEqual([
      1,
      { a: true },
    ]);
  });

  it("leave null and unknown values alone", () => {
    const { type, defaults } = constraint("object({ a = optional(number, 1) })");
    expect(applyTypeDefaults(Value.null(type), defaults).isNull).toBe(true);
    expect(applyTypeDefaults(Value.unknown(type), defaults).isKnown).toBe(false);
  });
});
