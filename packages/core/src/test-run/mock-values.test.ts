import { fromNative, Type, toNative, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { mockComputed } from "./mock-values.ts";

const attribute = (type: Type, more: Partial<AttributeSchema> = {}): AttributeSchema => ({
  type,
  required: false,
  optional: false,
  computed: true,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
  ...more,
});

const block = (
  attributes: Readonly<Record<string, AttributeSchema>>,
  blocks: BlockSchema["blocks"] = new Map(),
): BlockSchema => ({
  attributes: new Map(Object.entries(attributes)),
  blocks,
  deprecated: false,
  description: "",
});

const INNER = block({ id: attribute(Type.string), size: attribute(Type.number) });
const SCHEMA = block(
  {
    name: attribute(Type.string, { required: true, computed: false }),
    text: attribute(Type.string),
    number: attribute(Type.number),
    truth: attribute(Type.bool),
    list: attribute(Type.list(Type.string)),
    any: attribute(Type.dynamic),
    object: attribute(Type.object({ a: Type.string, b: Type.number })),
  },
  new Map([["inner", { nesting: "list", block: INNER, minItems: 0, maxItems: 0 }]]),
);
const element = Type.object({ id: Type.string, size: Type.number });
const OBJECT = Value.object([
  ["name", Value.string("n")],
  ["text", Value.null(Type.string)],
  ["number", Value.null(Type.number)],
  ["truth", Value.null(Type.bool)],
  ["list", Value.null(Type.list(Type.string))],
  ["any", Value.null(Type.dynamic)],
  ["object", Value.null(Type.object({ a: Type.string, b: Type.number }))],
  [
    "inner",
    Value.list(
      [
        Value.object([
          ["id", Value.null(Type.string)],
          ["size", Value.number(4)],
        ]),
      ],
      element,
    ),
  ],
]);

describe("mockComputed", () => {
  const generated = (seed: string) =>
    toNative(
      mockComputed(SCHEMA, OBJECT, { given: undefined, unknown: false, seed }).value,
    ) as Readonly<Record<string, unknown>>;

  it("generates values by type where the provider decides, the same for a seed", () => {
    const value = generated("a");
    expect(value).toMatchObject({ name: "n", number: 0, truth: false, list: [], any: null });
    expect(value["text"]).toMatch(/^[a-z0-9]{8}$/);
    expect(value["inner"]).toMatchObject([{ size: 4 }]);
    expect(generated("a")).toEqual(value);
    expect(generated("b")["text"]).not.toBe(value["text"]);
  });

  it("takes given values, completes objects, and leaves what is configured", () => {
    const given = fromNative({
      name: "other",
      number: "7",
      object: { b: 2 },
      inner: { id: "x", size: 9 },
    });
    const { value, problems } = mockComputed(SCHEMA, OBJECT, { given, unknown: false, seed: "" });
    expect(problems).toEqual([]);
    expect(toNative(value)).toMatchObject({
      name: "n",
      number: 7,
      object: { a: expect.stringMatching(/^[a-z0-9]{8}$/), b: 2 },
      inner: [{ id: "x", size: 4 }],
    });
  });

  it("reports a given value that does not fit", () => {
    const given = fromNative({ number: "many" });
    const { problems } = mockComputed(SCHEMA, OBJECT, { given, unknown: false, seed: "" });
    expect(problems).toEqual([expect.stringContaining("number")]);
  });

  it("leaves what is decided unknown before the apply", () => {
    const { value } = mockComputed(SCHEMA, OBJECT, { given: undefined, unknown: true, seed: "" });
    const members = new Map(value.entries());
    expect(members.get("text")?.isKnown).toBe(false);
    expect(members.get("name")?.isKnown).toBe(true);
  });
});
