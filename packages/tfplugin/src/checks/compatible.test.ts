import { Path, refine, Type, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type Nesting,
  typeOfBlock,
} from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { assertApplied } from "./assert-applied.ts";
import { assertObject } from "./assert-object.ts";
import { assertRefines } from "./assert-refines.ts";
import { normalizeLegacyObject } from "./normalize-legacy.ts";
import { type PlannedAction, plannedAction } from "./replacement.ts";

const text = (content: string) => Value.string(content);
const none = Value.null(Type.string);
const unknown = Value.unknown(Type.string);
const notNull = refine(unknown, { notNull: true });

function attribute(type: Type, writeOnly = false): AttributeSchema {
  return {
    type,
    required: false,
    optional: true,
    computed: !writeOnly,
    writeOnly,
    sensitive: false,
    deprecated: false,
    description: "",
  };
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

function refinement(
  schema: BlockSchema,
  approved: Value,
  final: Value,
  actions: readonly [PlannedAction, PlannedAction] = ["update", "update"],
) {
  const [approvedAction, finalAction] = actions;
  const legacyTypeSystem = false;
  return assertRefines({
    block: schema,
    approved,
    final,
    approvedAction,
    finalAction,
    legacyTypeSystem,
  });
}

const strings = (...values: readonly (string | Value)[]) =>
  values.map((value) => (typeof value === "string" ? text(value) : value));

describe("a value that was planned", () => {
  it.each<[string, Type, Value, Value, string[]]>([
    ["stays", Type.string, text("x"), text("x"), []],
    ["changes", Type.string, text("x"), text("y"), ["kept .a"]],
    ["becomes null", Type.string, text("x"), none, ["kept .a"]],
    ["stops being null", Type.string, none, text("x"), ["kept .a"]],
    ["becomes unknown", Type.string, text("x"), unknown, ["kept .a"]],
    ["becomes known", Type.string, unknown, text("x"), []],
    ["becomes known as null", Type.string, unknown, none, []],
    ["becomes null against its refinement", Type.string, notNull, none, ["placeholder .a"]],
    ["keeps its prefix", Type.string, refine(unknown, { prefix: "ami-" }), text("ami-1"), []],
    [
      "breaks its prefix",
      Type.string,
      refine(unknown, { prefix: "ami-" }),
      text("x"),
      ["placeholder .a"],
    ],
    ["is still unknown", Type.string, unknown, notNull, []],
    [
      "list: an element changes",
      Type.list(Type.string),
      Value.list(strings("a", "b")),
      Value.list(strings("a", "c")),
      ["kept .a[1]"],
    ],
    [
      "list: an element is gone",
      Type.list(Type.string),
      Value.list(strings("a", "b")),
      Value.list(strings("a")),
      ["count .a[1]"],
    ],
    [
      "list: an element is new",
      Type.list(Type.string),
      Value.list(strings("a")),
      Value.list(strings("a", "b")),
      ["count .a[1]"],
    ],
    [
      "list: an element becomes known",
      Type.list(Type.string),
      Value.list(strings("a", unknown)),
      Value.list(strings("a", "b")),
      [],
    ],
    [
      "map: another key",
      Type.map(Type.string),
      Value.map({ a: text("x") }),
      Value.map({ b: text("x") }),
      ['count .a["a"]', 'count .a["b"]'],
    ],
    [
      "set: elements become equal",
      Type.set(Type.string),
      Value.set(strings("a", unknown)),
      Value.set(strings("a")),
      [],
    ],
    [
      "set: an element becomes known",
      Type.set(Type.string),
      Value.set(strings("a", unknown)),
      Value.set(strings("a", "b")),
      [],
    ],
    [
      "set: an element is another",
      Type.set(Type.string),
      Value.set(strings("a", "b")),
      Value.set(strings("a", "c")),
      ['kept .a["b"]', 'kept .a["c"]'],
    ],
    [
      "set: grows",
      Type.set(Type.string),
      Value.set(strings(unknown)),
      Value.set(strings("a", "b")),
      ["count .a"],
    ],
    [
      "number: written otherwise",
      Type.number,
      Value.parseNumber("1"),
      Value.parseNumber("1.0"),
      [],
    ],
    ["open: becomes of some type", Type.dynamic, Value.dynamic, text("x"), []],
    ["open: changes its type", Type.dynamic, text("1"), Value.number(1), ["kept .a"]],
    [
      "object: a part changes",
      Type.object({ x: Type.string }),
      Value.object({ x: text("a") }),
      Value.object({ x: text("b") }),
      ["kept .a.x"],
    ],
  ])("%s", (_name, type, before, after, expected) => {
    const schema = block({ a: attribute(type) });
    const violations = refinement(schema, Value.object({ a: before }), Value.object({ a: after }));
    const found = violations.map(({ rule, path }) => `${rule} ${String(path)}`);
    expect(found).toEqual(expected);
    expect(violations.every(({ tolerated }) => !tolerated)).toBe(true);
  });

  it("is accepted with a record where it was a null of open type", () => {
    const schema = block({ a: attribute(Type.dynamic) });
    const before = Value.object({ a: Value.null(Type.dynamic) });
    const violations = refinement(schema, before, Value.object({ a: text("x") }));
    expect(violations).toMatchObject([{ rule: "kept", tolerated: true }]);
  });

  it("is accepted with a record where a refinement got lost", () => {
    const schema = block({ a: attribute(Type.string) });
    const violations = refinement(
      schema,
      Value.object({ a: notNull }),
      Value.object({ a: unknown }),
    );
    expect(violations).toMatchObject([{ rule: "placeholder", tolerated: true }]);
  });

  it("does not come from one origin twice", () => {
    const schema = block({ a: attribute(Type.set(Type.string)) });
    const before = strings(
      refine(unknown, { fullPrefix: "b" }),
      "a",
      refine(unknown, { fullPrefix: "a" }),
    );
    const approved = Value.object({ a: Value.set(before) });
    const final = Value.object({ a: Value.set(strings("b1", "b2", "a")) });
    expect(refinement(schema, approved, final)).toMatchObject([{ rule: "kept" }]);
    const possible = Value.object({ a: Value.set(strings("b1", "a1", "a")) });
    expect(refinement(schema, approved, possible)).toEqual([]);
  });
});

describe("blocks that were planned", () => {
  const inner = block({ key: attribute(Type.string) });
  const item = (key: Value) => Value.object({ key });
  const type = typeOfBlock(inner);

  it.each<[string, Nesting, Value, Value, string[]]>([
    ["single: changes inside", "single", item(text("a")), item(text("b")), ["kept .n.key"]],
    ["single: is gone", "single", item(text("a")), Value.null(type), ["presence .n"]],
    ["single: was not known", "single", Value.unknown(type), Value.null(type), []],
    [
      "list: becomes known inside",
      "list",
      Value.list([item(unknown)]),
      Value.list([item(text("a"))]),
      [],
    ],
    [
      "list: one is gone",
      "list",
      Value.list([item(unknown)]),
      Value.list([], type),
      ["count .n[0]"],
    ],
    [
      "list: was not known",
      "list",
      Value.unknown(Type.list(type)),
      Value.list([item(text("a"))]),
      [],
    ],
    ["list: null for none", "list", Value.list([], type), Value.null(Type.list(type)), []],
    [
      "map: another key",
      "map",
      Value.map({ a: item(text("x")) }),
      Value.map({ b: item(text("x")) }),
      ['count .n["a"]', 'count .n["b"]'],
    ],
    [
      "set: becomes known inside",
      "set",
      Value.set([item(unknown), item(text("a"))]),
      Value.set([item(text("a"))]),
      [],
    ],
    [
      "set: grows",
      "set",
      Value.set([item(unknown)]),
      Value.set([item(text("a")), item(text("b"))]),
      ["count .n"],
    ],
    [
      "set: another",
      "set",
      Value.set([item(text("a"))]),
      Value.set([item(text("b"))]),
      ["kept .n[...]", "kept .n[...]"],
    ],
  ])("%s", (_name, nesting, before, after, expected) => {
    const schema = block({}, { n: [nesting, inner] });
    const violations = refinement(schema, Value.object({ n: before }), Value.object({ n: after }));
    expect(violations.map(({ rule, path }) => `${rule} ${String(path)}`)).toEqual(expected);
  });
});

describe("a second plan", () => {
  const schema = block({ a: attribute(Type.string) });
  const object = Value.object({ a: text("x") });

  it.each<[PlannedAction, PlannedAction, boolean]>([
    ["create", "create", true],
    ["update", "no-op", true],
    ["update", "replace", false],
    ["replace", "update", false],
    ["no-op", "update", false],
    ["create", "no-op", false],
  ])("of %s may be %s: %s", (approved, final, allowed) => {
    const violations = refinement(schema, object, object, [approved, final]);
    expect(violations.length === 0).toBe(allowed);
  });

  it.each<[string, Value, Value, string[], PlannedAction]>([
    ["of nothing", Value.null(object.type), object, [], "create"],
    ["without a change", object, object, [], "no-op"],
    ["with a change", object, Value.object({ a: unknown }), [], "update"],
    [
      "with a change that needs a new object",
      object,
      Value.object({ a: text("y") }),
      ["a"],
      "replace",
    ],
    ["of an absent object", object, Value.null(object.type), [], "delete"],
  ])("%s is the action", (_name, prior, planned, _replace, action) => {
    const paths = action === "replace" ? [Path.root.attribute("a")] : [];
    expect(plannedAction(prior, planned, paths)).toBe(action);
  });
});

describe("the result of an apply", () => {
  const schema = block({ a: attribute(Type.string), s: attribute(Type.string, true) });
  const object = (a: Value, s = none) => Value.object({ a, s });
  const nothing = Value.null(typeOfBlock(schema));

  function apply(
    planned: Value,
    state: Value,
    options: { failed?: boolean; legacy?: boolean } = {},
  ) {
    const { failed = false, legacy: legacyTypeSystem = false } = options;
    const result = assertApplied({ block: schema, planned, state, failed, legacyTypeSystem });
    const found = result.violations.map(
      ({ rule, path, tolerated }) => `${tolerated ? "tolerated " : ""}${rule} ${String(path)}`,
    );
    return { found, object: result.object };
  }

  it.each<[string, Value, Value, { failed?: boolean; legacy?: boolean }, string[]]>([
    ["is what was planned", object(unknown), object(text("x")), {}, []],
    ["is something else", object(text("x")), object(text("y")), {}, ["kept .a"]],
    [
      "is something else, in the legacy type system",
      object(text("x")),
      object(text("y")),
      { legacy: true },
      ["tolerated kept .a"],
    ],
    [
      "is something else because it failed",
      object(text("x")),
      object(text("y")),
      { failed: true },
      [],
    ],
    ["is unknown", object(unknown), object(unknown), {}, ["known .a"]],
    [
      "is unknown, in the legacy type system",
      object(unknown),
      object(unknown),
      { legacy: true },
      ["known .a"],
    ],
    [
      "holds a write-only value",
      object(text("x")),
      object(text("x"), text("s")),
      { legacy: true },
      ["write-only .s"],
    ],
    ["is absent", object(text("x")), nothing, { legacy: true }, ["presence "]],
    ["is absent because it failed", object(text("x")), nothing, { failed: true }, []],
    ["is deleted", nothing, nothing, {}, []],
    ["is not deleted", nothing, object(text("x")), {}, ["presence "]],
    ["is of another type", object(text("x")), text("x"), { legacy: true }, ["type "]],
  ])("%s", (_name, planned, state, options, expected) => {
    expect(apply(planned, state, options).found).toEqual(expected);
  });

  it("is stored without what must not be stored", () => {
    const { object: stored } = apply(object(unknown), object(unknown, text("secret")));
    expect(stored.rawEquals(object(none))).toBe(true);
  });
});

describe("an object that exists", () => {
  it("is wholly known and holds no write-only values", () => {
    const inner = block({ s: attribute(Type.string, true), k: attribute(Type.string) });
    const schema = block({}, { n: ["set", inner] });
    const of = (k: Value, s: Value) => Value.object({ n: Value.set([Value.object({ k, s })]) });
    const good = assertObject({ block: schema, object: of(text("x"), none) });
    expect(good.violations).toEqual([]);
    const bad = assertObject({ block: schema, object: of(unknown, text("secret")) });
    expect(bad.violations.map(({ rule }) => rule)).toEqual(["write-only", "known"]);
    expect(bad.object.rawEquals(of(none, none))).toBe(true);
    expect(JSON.stringify(bad.violations)).not.toContain("secret");
  });
});

describe("normalizeLegacyObject", () => {
  const inner = block({ k: attribute(Type.string) });
  const type = typeOfBlock(inner);
  const stub = Value.object({ k: unknown });

  it.each<[Nesting, Value, Value]>([
    ["list", Value.null(Type.list(type)), Value.list([], type)],
    ["list", Value.unknown(Type.list(type)), Value.list([stub])],
    ["set", Value.null(Type.set(type)), Value.set([], type)],
    ["set", Value.unknown(Type.set(type)), Value.set([stub])],
    ["single", Value.null(type), Value.null(type)],
    ["single", Value.unknown(type), stub],
    ["group", Value.null(type), Value.object({ k: none })],
    ["group", Value.unknown(type), stub],
    ["map", Value.null(Type.map(type)), Value.null(Type.map(type))],
  ])("makes blocks of a %s what others return", (nesting, given, expected) => {
    const deep = block({}, { outer: ["single", block({}, { n: [nesting, inner] })] });
    const wrap = (n: Value) => Value.object({ outer: Value.object({ n }) });
    expect(normalizeLegacyObject(deep, wrap(given)).rawEquals(wrap(expected))).toBe(true);
  });

  it("leaves blocks with attributes of any type, and absent objects", () => {
    const open = block({}, { n: ["list", block({ any: attribute(Type.dynamic) })] });
    const object = Value.object({ n: Value.null(Type.dynamic) });
    expect(normalizeLegacyObject(open, object).rawEquals(object)).toBe(true);
    const nothing = Value.null(typeOfBlock(open));
    expect(normalizeLegacyObject(open, nothing).rawEquals(nothing)).toBe(true);
  });
});
