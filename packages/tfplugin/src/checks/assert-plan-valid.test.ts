import { Path, refine, Type, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type Nesting,
  typeOfBlock,
  typeOfNestedAttributes,
} from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { assertPlanValid } from "./assert-plan-valid.ts";
import { isRefused, violationsToDiagnostics } from "./violation.ts";

const root = Path.root;
const text = (content: string) => Value.string(content);
const none = Value.null(Type.string);
const unknown = Value.unknown(Type.string);

function attribute(flags: string, type: Type = Type.string): AttributeSchema {
  return {
    type,
    required: flags.includes("r"),
    optional: flags.includes("o") || flags.includes("w"),
    computed: flags.includes("c"),
    writeOnly: flags.includes("w"),
    sensitive: false,
    deprecated: false,
    description: "",
  };
}

function nestedAttribute(
  flags: string,
  nesting: "single" | "list" | "set" | "map",
  members: Readonly<Record<string, AttributeSchema>>,
): AttributeSchema {
  const attributes = new Map(Object.entries(members));
  const type = typeOfNestedAttributes(nesting, attributes);
  return { ...attribute(flags, type), nested: { nesting, attributes } };
}

function block(
  attributes: Readonly<Record<string, AttributeSchema>>,
  blocks: Readonly<Record<string, readonly [Nesting, BlockSchema]>> = {},
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

interface Objects {
  readonly prior?: Value;
  readonly config?: Value;
  readonly planned?: Value;
  readonly requiresReplace?: readonly Path[];
  readonly legacyTypeSystem?: boolean;
}

function check(schema: BlockSchema, objects: Objects) {
  const nothing = Value.null(typeOfBlock(schema));
  return assertPlanValid({
    block: schema,
    prior: nothing,
    config: nothing,
    planned: nothing,
    requiresReplace: [],
    legacyTypeSystem: false,
    ...objects,
  });
}

function found(schema: BlockSchema, objects: Objects): string[] {
  return check(schema, objects).violations.map(({ rule, path }) => `${rule} ${String(path)}`);
}

describe("an attribute of a plan", () => {
  it.each<[string, string, Value, Value, Value, string[]]>([
    ["is as configured", "r", none, text("x"), text("x"), []],
    [
      "is as before, for what the provider takes for the same",
      "o",
      text("X"),
      text("x"),
      text("X"),
      [],
    ],
    ["is neither", "o", text("y"), text("x"), text("z"), ["configured .a"]],
    ["is not as configured in a new object", "o", none, text("x"), text("y"), ["configured .a"]],
    ["became unknown", "oc", text("y"), text("x"), unknown, ["configured .a"]],
    ["became null", "o", text("y"), text("x"), none, ["configured .a"]],
    [
      "is known where the configuration is not yet",
      "o",
      none,
      unknown,
      text("x"),
      ["configured .a"],
    ],
    ["is as before where the configuration is unknown", "o", text("x"), unknown, text("x"), []],
    ["is computed", "c", none, none, text("x"), []],
    ["is to be computed", "c", text("x"), none, unknown, []],
    ["is computed where it is not configured", "oc", none, none, unknown, []],
    [
      "is computed, whatever ignored changes made of the configuration",
      "c",
      none,
      text("x"),
      text("y"),
      [],
    ],
    ["is nobody's", "o", none, none, text("x"), ["not-computed .a"]],
    ["is nobody's and unknown", "o", text("x"), none, unknown, ["not-computed .a"]],
    [
      "is what it was, without being configured any more",
      "o",
      text("x"),
      none,
      text("x"),
      ["not-computed .a"],
    ],
    ["lost only a refinement", "o", none, refine(unknown, { notNull: true }), unknown, []],
    ["is null where it is write-only", "w", none, text("x"), none, []],
    ["is there where it is write-only", "w", none, text("x"), text("x"), ["write-only .a"]],
    ["is unknown where it is write-only", "w", none, text("x"), unknown, ["write-only .a"]],
  ])("%s", (_name, flags, prior, config, planned, expected) => {
    const schema = block({ a: attribute(flags) });
    const object = (a: Value) => Value.object({ a });
    const priorObject = object(prior);
    const objects = { prior: priorObject, config: object(config), planned: object(planned) };
    expect(found(schema, objects)).toEqual(expected);
  });
});

describe("a map with an unknown element", () => {
  const schema = block({ a: attribute("o", Type.map(Type.string)) });
  const object = (element: Value) => Value.object({ a: Value.map({ k: element, x: text("x") }) });

  it("may be planned without what is stated about the element", () => {
    const config = object(refine(unknown, { prefix: "web-" }));
    expect(found(schema, { config, planned: object(unknown) })).toEqual([]);
  });

  it("may not be planned with another element", () => {
    const config = object(refine(unknown, { prefix: "web-" }));
    const planned = Value.object({ a: Value.map({ k: unknown, x: text("y") }) });
    expect(found(schema, { config, planned })).toEqual(["configured .a"]);
  });
});

describe("the object of a plan", () => {
  const schema = block({ a: attribute("o"), b: attribute("c", Type.number) });
  const object = Value.object({ a: text("x"), b: Value.null(Type.number) });

  it.each<[string, Objects, string[]]>([
    ["is there for a configuration", { config: object, planned: object }, []],
    ["is absent for a delete", { prior: object }, []],
    ["is absent although configured", { config: object }, ["presence "]],
    ["is there although it is to be deleted", { prior: object, planned: object }, ["presence "]],
    ["is of another type", { config: object, planned: Value.object({ a: text("x") }) }, ["type "]],
    ["is unknown", { config: object, planned: Value.unknown(object.type) }, ["block "]],
  ])("%s", (_name, objects, expected) => {
    expect(found(schema, objects)).toEqual(expected);
  });
});

describe("nested attributes of a plan", () => {
  const inner = { key: attribute("r"), id: attribute("c") };
  const item = (key: Value, id: Value = none) => Value.object({ key, id });
  const [a, b, planned] = [item(text("a")), item(text("b")), item(text("a"), unknown)];

  it.each<[string, "single" | "list" | "set" | "map", Value, Value, string[]]>([
    ["single, computed inside", "single", a, planned, []],
    ["single, changed", "single", a, b, ["configured .n.key"]],
    ["single, gone", "single", a, Value.null(a.type), ["presence .n"]],
    ["single, made up", "single", Value.null(a.type), a, ["not-computed .n"]],
    ["single, unknown", "single", a, Value.unknown(a.type), ["configured .n"]],
    ["single, known too early", "single", Value.unknown(a.type), a, ["configured .n"]],
    ["list, computed inside", "list", Value.list([a, b]), Value.list([planned, b]), []],
    [
      "list, another order",
      "list",
      Value.list([a, b]),
      Value.list([b, a]),
      ["configured .n[0].key", "configured .n[1].key"],
    ],
    ["list, one more", "list", Value.list([a]), Value.list([a, b]), ["count .n"]],
    [
      "list, a null element",
      "list",
      Value.list([a]),
      Value.list([Value.null(a.type)]),
      ["presence .n[0]"],
    ],
    [
      "list, an unknown element",
      "list",
      Value.list([a]),
      Value.list([Value.unknown(a.type)]),
      ["configured .n[0]"],
    ],
    ["set, computed inside", "set", Value.set([a, b]), Value.set([planned, b]), []],
    ["set, one less", "set", Value.set([a, b]), Value.set([a]), ["count .n"]],
    ["map, computed inside", "map", Value.map({ k: a }), Value.map({ k: planned }), []],
    [
      "map, another key",
      "map",
      Value.map({ k: a }),
      Value.map({ l: a }),
      ['count .n["l"]', 'count .n["k"]'],
    ],
  ])("%s", (_name, nesting, config, plannedValue, expected) => {
    const schema = block({ n: nestedAttribute("o", nesting, inner) });
    const objects = {
      config: Value.object({ n: config }),
      planned: Value.object({ n: plannedValue }),
    };
    expect(found(schema, objects)).toEqual(expected);
  });

  it("may be anything where they are computed and not configured", () => {
    const schema = block({ n: nestedAttribute("oc", "list", inner) });
    const config = Value.object({ n: Value.null(Value.list([a]).type) });
    expect(found(schema, { config, planned: Value.object({ n: Value.list([a]) }) })).toEqual([]);
  });

  it("hold no write-only values at any depth", () => {
    const schema = block({ n: nestedAttribute("o", "map", { s: attribute("w") }) });
    const config = Value.object({ n: Value.map({ k: Value.object({ s: text("x") }) }) });
    expect(found(schema, { config, planned: config })).toEqual(['write-only .n["k"].s']);
  });
});

describe("blocks of a plan", () => {
  const inner = block({ key: attribute("r"), id: attribute("c") });
  const item = (key: Value, id: Value = none) => Value.object({ key, id });
  const [a, b, planned] = [item(text("a")), item(text("b")), item(text("a"), unknown)];
  const type = typeOfBlock(inner);

  it.each<[string, Nesting, Value, Value, string[]]>([
    ["single, computed inside", "single", a, planned, []],
    ["single, gone", "single", a, Value.null(type), ["presence .n"]],
    ["single, made up", "single", Value.null(type), a, ["presence .n"]],
    ["group, changed", "group", a, b, ["configured .n.key"]],
    ["list, computed inside", "list", Value.list([a]), Value.list([planned]), []],
    [
      "list, null for none",
      "list",
      Value.list([], type),
      Value.null(Type.list(type)),
      ["block .n"],
    ],
    ["list, one less", "list", Value.list([a, b]), Value.list([a]), ["count .n"]],
    [
      "list, unknown as a whole",
      "list",
      Value.list([a]),
      Value.unknown(Type.list(type)),
      ["block .n"],
    ],
    [
      "list, an unknown block",
      "list",
      Value.list([a]),
      Value.list([Value.unknown(type)]),
      ["block .n[0]"],
    ],
    [
      "list, known too early",
      "list",
      Value.unknown(Type.list(type)),
      Value.list([a]),
      ["block .n"],
    ],
    [
      "list, still unknown",
      "list",
      Value.unknown(Type.list(type)),
      Value.unknown(Type.list(type)),
      [],
    ],
    ["map, computed inside", "map", Value.map({ k: a }), Value.map({ k: planned }), []],
    [
      "map, one more",
      "map",
      Value.map({ k: a }),
      Value.map({ k: a, l: a }),
      ["count .n", 'count .n["l"]'],
    ],
    ["set, others", "set", Value.set([a, b]), Value.set([planned, item(text("c"))]), []],
    ["set, fewer", "set", Value.set([a, b]), Value.set([a]), []],
    ["set, null for none", "set", Value.set([a]), Value.null(Type.set(type)), ["block .n"]],
  ])("%s", (_name, nesting, config, plannedValue, expected) => {
    const schema = block({}, { n: [nesting, inner] });
    const objects = {
      config: Value.object({ n: config }),
      planned: Value.object({ n: plannedValue }),
    };
    expect(found(schema, objects)).toEqual(expected);
  });

  it("are of the type of their schema, also where attributes of any type hide it", () => {
    const open = block({}, { n: ["list", block({ any: attribute("o", Type.dynamic) })] });
    const config = Value.object({ n: Value.tuple([Value.object({ any: text("x") })]) });
    expect(found(open, { config, planned: config })).toEqual([]);
    const wrong = Value.object({ n: Value.tuple([Value.object({ other: text("x") })]) });
    expect(found(open, { config, planned: wrong })).toEqual(["type .n[0]"]);
    expect(found(open, { config, planned: Value.object({ n: text("x") }) })).toEqual(["type .n"]);
  });
});

describe("replacement", () => {
  const schema = block({
    a: attribute("o"),
    s: attribute("w"),
    l: attribute("o", Type.list(Type.string)),
  });
  const list = (...values: string[]) => Value.list(values.map(text), Type.string);
  const object = (a: string, l = list()) => Value.object({ a: text(a), s: none, l });
  const [pa, ps, pl] = [root.attribute("a"), root.attribute("s"), root.attribute("l")];

  function replacements(prior: Value | undefined, planned: Value, paths: readonly Path[]) {
    const objects = { config: planned, planned, requiresReplace: paths };
    return check(schema, prior === undefined ? objects : { ...objects, prior });
  }

  it.each<[string, Value | undefined, Value, readonly Path[], readonly string[]]>([
    ["counts where something changed", object("x"), object("y"), [pa], [".a"]],
    ["does not count where nothing changed", object("x"), object("x"), [pa], []],
    ["does not count for a new object", undefined, object("x"), [pa], []],
    [
      "counts for a write-only attribute, which cannot be compared",
      object("x"),
      object("x"),
      [ps],
      [".s"],
    ],
    [
      "counts for an element that came or went",
      object("x", list("a")),
      object("x"),
      [pl.index(0)],
      [".l[0]"],
    ],
  ])("%s", (_name, prior, planned, paths, expected) => {
    const { requiresReplace, violations } = replacements(prior, planned, paths);
    expect(requiresReplace.map(String)).toEqual(expected);
    expect(violations).toEqual([]);
  });

  it("is refused for a path that leads nowhere", () => {
    const { violations } = replacements(object("x"), object("x"), [root.attribute("nowhere")]);
    expect(violations).toMatchObject([{ rule: "replacement-path", tolerated: false }]);
  });
});

describe("the legacy type system", () => {
  const schema = block({ a: attribute("o"), s: attribute("w") });
  const config = Value.object({ a: text("x"), s: text("secret") });

  it("turns violations into records, but not those of type and of write-only values", () => {
    const planned = Value.object({ a: text("y"), s: text("secret") });
    const { violations } = check(schema, { config, planned, legacyTypeSystem: true });
    expect(violations.map(({ rule, tolerated }) => [rule, tolerated])).toEqual([
      ["write-only", false],
      ["configured", true],
    ]);
    expect(isRefused(violations)).toBe(true);
    expect(isRefused(violations.slice(1))).toBe(false);
    const diagnostics = violationsToDiagnostics(violations, "plan", "thing.a");
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["error", "warning"]);
    expect(JSON.stringify(diagnostics)).not.toContain("secret");
  });
});
