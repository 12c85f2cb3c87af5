import { Mark, Type, Value } from "@stackwright/cty";
import { formatFile, parseFile } from "@stackwright/lang";
import type { AttributeSchema, BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { resourceBlock } from "./generated-resource.ts";

function attribute(type: Type, more: Partial<AttributeSchema> = {}): AttributeSchema {
  return {
    type,
    required: false,
    optional: true,
    computed: false,
    sensitive: false,
    writeOnly: false,
    deprecated: false,
    description: "",
    ...more,
  };
}

function block(
  attributes: Readonly<Record<string, AttributeSchema>>,
  blocks: Readonly<Record<string, NestedBlockSchema>> = {},
): BlockSchema {
  return {
    attributes: new Map(Object.entries(attributes)),
    blocks: new Map(Object.entries(blocks)),
    deprecated: false,
    description: "",
  };
}

function written(schema: BlockSchema, value: Value): string {
  const object = { type: "t", name: "n", id: "i", provider: undefined, block: schema, value };
  const text = resourceBlock(object);
  expect(parseFile({ name: "g.tf", text }).diagnostics).toEqual([]);
  const formatted = formatFile({ name: "g.tf", text }).text ?? "";
  return formatted.split("\n").slice(2, -2).join("\n");
}

const text = (value: string) => Value.string(value);

describe("the block of an imported object", () => {
  it("has what can be configured, without what is deprecated and the id of older providers", () => {
    const schema = block({
      b: attribute(Type.string),
      a: attribute(Type.number, { required: true, optional: false }),
      only: attribute(Type.string, { optional: false, computed: true }),
      old: attribute(Type.string, { deprecated: true }),
      id: attribute(Type.string, { computed: true }),
    });
    const value = Value.object({
      b: text("x"),
      a: Value.number(1),
      only: text("c"),
      old: text("o"),
      id: text("7"),
    });
    expect(written(schema, value)).toBe('  a = 1\n  b = "x"');
  });

  it("has null for a secret and for an optional text that is empty", () => {
    const schema = block({
      declared: attribute(Type.string, { sensitive: true }),
      marked: attribute(Type.list(Type.string)),
      unset: attribute(Type.string),
      needed: attribute(Type.string, { required: true, optional: false }),
    });
    const value = Value.object({
      declared: text("canary"),
      marked: Value.list([text("canary").mark(Mark.sensitive)]),
      unset: text(""),
      needed: text(""),
    });
    const result = written(schema, value);
    expect(result).not.toContain("canary");
    expect(result).toBe(
      '  declared = null # sensitive\n  marked   = null # sensitive\n  needed   = ""\n  unset    = null',
    );
  });

  it("has texts that would end or open something as what they are", () => {
    const schema = block({ a: attribute(Type.map(Type.string)) });
    const hostile = '"\n}\nresource "x" "y" {}\n${file("/etc/passwd")} %{ if true } \u0000 <<EOT';
    const value = Value.object({ a: Value.map({ 'k"}': text(hostile) }) });
    expect(written(schema, value)).toBe(
      '  a = {\n    "k\\"}" = "\\"\\n}\\nresource \\"x\\" \\"y\\" {}\\n$${file(\\"/etc/passwd\\")} %%{ if true } \\u0000 <<EOT"\n  }',
    );
  });

  it("has a call of jsonencode only for a text that is its result to the byte", () => {
    const schema = block({ exact: attribute(Type.string), other: attribute(Type.string) });
    const value = Value.object({
      exact: text('{"A":["x",{"b":null}],"c":1}'),
      other: text('{"c": 1, "A": 2}'),
    });
    expect(written(schema, value)).toBe(`  exact = jsonencode({
    A = [
      "x",
      {
        b = null
      },
    ]
    c = 1
  })
  other = "{\\"c\\": 1, \\"A\\": 2}"`);
  });

  it('has a key "for" in quotes, which would begin an expression otherwise', () => {
    const schema = block({ json: attribute(Type.string), map: attribute(Type.map(Type.string)) });
    const value = Value.object({ json: text('{"for":1}'), map: Value.map({ for: text("x") }) });
    expect(written(schema, value)).toBe(
      '  json = jsonencode({\n    "for" = 1\n  })\n  map = {\n    "for" = "x"\n  }',
    );
  });

  it.each([
    ["numbers with exponents", "[1e+21]"],
    ["numbers of more digits than are kept", "[1e400]"],
    ["keys in the order of UTF-16", '{"\u{10000}":1,"\uE000":2}'],
    ["two members of one name", '{"a":1,"a":1}'],
    ["characters that the call escapes", '["<"]'],
    ["arrays deeper than types may be", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ])("has a JSON text with %s as it is", (_, json) => {
    const written = resourceBlock({
      type: "t",
      name: "n",
      id: undefined,
      provider: undefined,
      block: block({ a: attribute(Type.string) }),
      value: Value.object({ a: text(json) }),
    });
    expect(written).not.toContain("jsonencode");
  });

  it("has nested blocks and nested attributes", () => {
    const inner = block({ size: attribute(Type.number) });
    const nested = attribute(Type.list(Type.object({ size: Type.number })), {
      nested: { nesting: "list", attributes: inner.attributes },
    });
    const blocks: Readonly<Record<string, NestedBlockSchema>> = {
      disk: { nesting: "list", block: inner, minItems: 0, maxItems: 0 },
      one: { nesting: "single", block: inner, minItems: 0, maxItems: 1 },
      none: { nesting: "single", block: inner, minItems: 0, maxItems: 1 },
      by: { nesting: "map", block: inner, minItems: 0, maxItems: 0 },
    };
    const size = (count: number) => Value.object({ size: Value.number(count) });
    const type = Type.object({ size: Type.number });
    const value = Value.object({
      attr: Value.list([size(1)]),
      disk: Value.list([size(2), size(3)]),
      one: size(4),
      none: Value.null(type),
      by: Value.map({ k: size(5) }),
    });
    expect(written(block({ attr: nested }, blocks), value)).toBe(`  attr = [
    {
      size = 1
    },
  ]
  by "k" {
    size = 5
  }
  disk {
    size = 2
  }
  disk {
    size = 3
  }
  one {
    size = 4
  }`);
  });
});
