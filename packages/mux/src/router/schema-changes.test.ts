import { Type } from "@stackwright/cty";
import { expect, it } from "vitest";
import type { AttributeSchema, BlockSchema, NestedBlockSchema, ProviderSchema } from "./schema.ts";
import { changesOfSchemas } from "./schema-changes.ts";

const attribute = (over: Partial<AttributeSchema> = {}): AttributeSchema => ({
  type: Type.string,
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
  ...over,
});

const block = (
  attributes: Readonly<Record<string, AttributeSchema>>,
  blocks: Readonly<Record<string, NestedBlockSchema>> = {},
): BlockSchema => ({
  attributes: new Map(Object.entries(attributes)),
  blocks: new Map(Object.entries(blocks)),
  deprecated: false,
  description: "",
});

const nested = (over: Partial<NestedBlockSchema> = {}): NestedBlockSchema => ({
  nesting: "list",
  block: block({}),
  minItems: 0,
  maxItems: 0,
  ...over,
});

const schema = (note: BlockSchema, over: Partial<ProviderSchema> = {}): ProviderSchema => ({
  provider: block({}),
  resources: new Map([["note", { version: 1, block: note }]]),
  dataSources: new Map(),
  ephemeralResources: new Map(),
  functions: new Map(),
  ...over,
});

/** What is found, as lines: `!` where it breaks a configuration. */
const linesOf = (before: ProviderSchema, after: ProviderSchema): readonly string[] =>
  changesOfSchemas(before, after).map(
    ({ of, name, path, change, before: was, after: is, breaks }) =>
      `${breaks ? "!" : " "} ${of} ${name} ${path} ${change}: ${was} -> ${is}`.replaceAll(
        / +/g,
        " ",
      ),
  );

const required = { required: true, optional: false };
const computed = { optional: false, computed: true };

it.each<[string, Partial<AttributeSchema>, Partial<AttributeSchema>, string]>([
  ["a type", {}, { type: Type.number }, "! type: string -> number"],
  ["needed", {}, required, "! mode: optional -> required"],
  ["needed no more", required, {}, " mode: required -> optional"],
  ["decided by the provider", {}, computed, "! mode: optional -> computed"],
  ["may be written", computed, { computed: true }, " mode: computed -> optional, computed"],
  ["decided no more", { computed: true }, {}, "! mode: optional, computed -> optional"],
  ["hidden", {}, { sensitive: true }, "! sensitive: no -> yes"],
  ["shown", { sensitive: true }, {}, " sensitive: yes -> no"],
  ["never stored", {}, { writeOnly: true }, "! write-only: no -> yes"],
  ["to go", {}, { deprecated: true }, " deprecated: no -> yes"],
])("an attribute is another: %s", (_, before, after, expected) => {
  const found = linesOf(
    schema(block({ text: attribute(before) })),
    schema(block({ text: attribute(after) })),
  );
  expect(found).toEqual([expected.replace(/^(!?) /, "$1 resource note text ")]);
});

it("what is new breaks where it is needed, what is gone always", () => {
  const one = schema(block({ gone: attribute(), kept: attribute() }, { lost: nested() }));
  const other = schema(
    block(
      { kept: attribute(), may: attribute(), must: attribute(required) },
      { rule: nested(), tags: nested({ minItems: 1, maxItems: 1 }) },
    ),
  );
  expect(linesOf(one, other)).toEqual([
    "! resource note gone removed: string, optional -> ",
    " resource note may added: -> string, optional",
    "! resource note must added: -> string, required",
    "! resource note lost removed: block (list), any number -> ",
    " resource note rule added: -> block (list), any number",
    "! resource note tags added: -> block (list), exactly 1",
  ]);
});

it("attributes of blocks and of attributes are found by their path, with how many there may be", () => {
  const object = (over: Partial<AttributeSchema>) =>
    attribute({
      type: Type.list(Type.object({ port: over.type ?? Type.string })),
      nested: { nesting: "list", attributes: new Map([["port", attribute(over)]]) },
    });
  const make = (over: Partial<AttributeSchema>, items: Partial<NestedBlockSchema>) =>
    schema(
      block(
        { listener: object(over) },
        { rule: nested({ block: block({ to: attribute(over) }), ...items }) },
      ),
    );
  expect(
    linesOf(make({}, {}), make({ type: Type.number }, { maxItems: 3, nesting: "set" })),
  ).toEqual([
    "! resource note listener.port type: string -> number",
    "! resource note rule nesting: list -> set",
    "! resource note rule items: any number -> 0 to 3",
    "! resource note rule.to type: string -> number",
  ]);
  expect(linesOf(make({}, { minItems: 2 }), make({}, {}))).toEqual([
    " resource note rule items: at least 2 -> any number",
  ]);
});

it("types and functions come and go, and stored objects of a later version cannot be read", () => {
  const call = {
    parameters: [],
    returnType: Type.string,
    summary: "",
    description: "",
    deprecationMessage: "",
  };
  const parameter = {
    name: "a",
    type: Type.string,
    allowNull: false,
    allowUnknown: false,
    description: "",
  };
  const one = schema(block({}), {
    dataSources: new Map([["old", { version: 0, block: block({}) }]]),
    functions: new Map([["join", call]]),
    provider: block({ region: attribute() }),
  });
  const other = schema(block({}), {
    resources: new Map([
      ["note", { version: 0, block: block({}) }],
      ["share", { version: 0, block: block({}) }],
    ]),
    functions: new Map([["join", { ...call, parameters: [parameter], deprecationMessage: "no" }]]),
    provider: block({ region: attribute(required) }),
  });
  expect(linesOf(one, other)).toEqual([
    "! provider region mode: optional -> required",
    "! resource note version: 1 -> 0",
    " resource share added: -> ",
    "! data old removed: -> ",
    "! function join signature: () string -> (string) string",
    " function join deprecated: no -> yes",
  ]);
  expect(linesOf(one, one)).toEqual([]);
});
