import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { emptyObject, proposeState } from "./propose-state.ts";
import type { AttributeSchema, BlockSchema, NestedBlockSchema } from "./schema.ts";
import { typeOfBlock } from "./type-of-block.ts";

const base = { sensitive: false, writeOnly: false, deprecated: false, description: "" };

function attribute(flags: string, type: Type = Type.string): AttributeSchema {
  return {
    ...base,
    type,
    required: flags.includes("r"),
    optional: flags.includes("o"),
    computed: flags.includes("c"),
  };
}

function nestedAttribute(
  flags: string,
  nesting: "single" | "list" | "set" | "map",
  attributes: Record<string, AttributeSchema>,
): AttributeSchema {
  const object = Type.object(
    Object.entries(attributes).map(([name, { type }]) => [name, type] as const),
  );
  const types = {
    single: object,
    list: Type.list(object),
    set: Type.set(object),
    map: Type.map(object),
  };
  const nested = { nesting, attributes: new Map(Object.entries(attributes)) };
  return { ...attribute(flags, types[nesting]), nested };
}

function block(
  attributes: Record<string, AttributeSchema>,
  blocks: Record<string, [NestedBlockSchema["nesting"], BlockSchema]> = {},
): BlockSchema {
  return {
    attributes: new Map(Object.entries(attributes)),
    blocks: new Map(
      Object.entries(blocks).map(([name, [nesting, inner]]) => [
        name,
        { nesting, block: inner, minItems: 0, maxItems: 0 },
      ]),
    ),
    deprecated: false,
    description: "",
  };
}

const text = (content: string) => Value.string(content);
const none = Value.null(Type.string);

const ITEM = block({ key: attribute("r"), id: attribute("c") });
const item = (key: string, id?: string) =>
  Value.object({ key: text(key), id: id === undefined ? none : text(id) });

describe("proposeState", () => {
  it("is null for nothing and for a delete", () => {
    const schema = block({ a: attribute("o") });
    const nothing = Value.null(typeOfBlock(schema));
    const something = Value.object({ a: text("x") });
    expect(proposeState(schema, nothing, nothing).isNull).toBe(true);
    expect(proposeState(schema, something, nothing).isNull).toBe(true);
  });

  it.each<[string, Value, Value, Value]>([
    ["r", text("old"), text("new"), text("new")],
    ["o", text("old"), none, none],
    ["c", text("old"), none, text("old")],
    ["oc", text("old"), none, text("old")],
    ["oc", text("old"), text("new"), text("new")],
    ["oc", text("old"), Value.unknown(Type.string), Value.unknown(Type.string)],
  ])("gives an attribute that is %s its value", (flags, prior, config, expected) => {
    const schema = block({ a: attribute(flags) });
    const proposed = proposeState(schema, Value.object({ a: prior }), Value.object({ a: config }));
    expect(proposed.rawEquals(Value.object({ a: expected }))).toBe(true);
  });

  it("leaves computed attributes of a new object null", () => {
    const schema = block({ a: attribute("o"), b: attribute("c") });
    const config = Value.object({ a: text("x"), b: none });
    const proposed = proposeState(schema, Value.null(config.type), config);
    expect(proposed.rawEquals(config)).toBe(true);
  });

  it("pairs blocks in a list by position", () => {
    const schema = block({}, { item: ["list", ITEM] });
    const prior = Value.object({ item: Value.list([item("a", "1"), item("b", "2")]) });
    const config = Value.object({ item: Value.list([item("x"), item("b"), item("c")]) });
    const expected = Value.object({
      item: Value.list([item("x", "1"), item("b", "2"), item("c")]),
    });
    expect(proposeState(schema, prior, config).rawEquals(expected)).toBe(true);
  });

  it("pairs blocks in a map by key", () => {
    const schema = block({}, { item: ["map", ITEM] });
    const prior = Value.object({ item: Value.map({ one: item("a", "1"), two: item("b", "2") }) });
    const config = Value.object({ item: Value.map({ two: item("x"), three: item("c") }) });
    const expected = Value.object({ item: Value.map({ two: item("x", "2"), three: item("c") }) });
    expect(proposeState(schema, prior, config).rawEquals(expected)).toBe(true);
  });

  it("pairs blocks in a set by what is not computed, each once", () => {
    const schema = block({}, { item: ["set", ITEM] });
    const prior = Value.object({ item: Value.set([item("a", "1"), item("b", "2")]) });
    const config = Value.object({ item: Value.set([item("b"), item("c")]) });
    const expected = Value.object({ item: Value.set([item("b", "2"), item("c")]) });
    expect(proposeState(schema, prior, config).rawEquals(expected)).toBe(true);
  });

  it("keeps an absent single block absent, and fills a present one", () => {
    const schema = block({}, { item: ["single", ITEM] });
    const prior = Value.object({ item: item("a", "1") });
    const absent = Value.object({
      item: Value.null(prior.type.kind === "object" ? ITEM_TYPE : Type.string),
    });
    expect(proposeState(schema, prior, absent).rawEquals(absent)).toBe(true);
    const present = Value.object({ item: item("b") });
    const expected = Value.object({ item: item("b", "1") });
    expect(proposeState(schema, prior, present).rawEquals(expected)).toBe(true);
  });

  it("leaves an unknown block unknown", () => {
    const schema = block({}, { item: ["list", ITEM] });
    const prior = Value.object({ item: Value.list([item("a", "1")]) });
    const config = Value.object({ item: Value.unknown(Type.list(ITEM_TYPE)) });
    expect(proposeState(schema, prior, config).rawEquals(config)).toBe(true);
  });

  it("goes into nested attributes", () => {
    const inner = { key: attribute("r"), id: attribute("c") };
    const schema = block({ a: nestedAttribute("o", "list", inner) });
    const prior = Value.object({ a: Value.list([item("a", "1")]) });
    const config = Value.object({ a: Value.list([item("b"), item("c")]) });
    const expected = Value.object({ a: Value.list([item("b", "1"), item("c")]) });
    expect(proposeState(schema, prior, config).rawEquals(expected)).toBe(true);
  });

  it("takes back a nested attribute that was configured before and is not any more", () => {
    const schema = block({
      a: nestedAttribute("oc", "set", { key: attribute("o"), id: attribute("c") }),
    });
    const config = Value.object({ a: Value.null(Type.set(ITEM_TYPE)) });
    const configured = Value.object({ a: Value.set([item("a", "1")]) });
    expect(proposeState(schema, configured, config).rawEquals(config)).toBe(true);
    const own = Value.object({ key: none, id: text("1") });
    const decided = Value.object({ a: Value.set([own]) });
    expect(proposeState(schema, decided, config).rawEquals(decided)).toBe(true);
  });
});

const ITEM_TYPE = typeOfBlock(ITEM);

describe("emptyObject", () => {
  it("has null attributes and empty collections, of the type that the block implies", () => {
    const schema = block(
      { a: attribute("o"), any: attribute("o", Type.dynamic) },
      {
        l: ["list", ITEM],
        s: ["set", ITEM],
        m: ["map", ITEM],
        one: ["single", ITEM],
        g: ["group", ITEM],
      },
    );
    const empty = emptyObject(schema);
    const members = new Map(empty.entries());
    expect(members.get("a")?.isNull).toBe(true);
    for (const name of ["l", "s", "m"]) expect(members.get(name)?.size).toBe(0);
    expect(members.get("one")?.isNull).toBe(true);
    expect(members.get("g")?.isNull).toBe(false);
    expect(typeOfBlock(schema).attribute("l")?.equals(Type.list(ITEM_TYPE))).toBe(true);
  });
});
