import { Mark, Path, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { ConfigBody } from "../config/body-content.ts";
import { jsonRootBody } from "../config/body-content.ts";
import { consoleScope } from "../console/console.ts";
import { valueText } from "../console/value-text.ts";
import { createScope } from "../eval/scope.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseFile } from "../syntax/parse.ts";
import { attribute, block, nestedAttribute, nestedBlock } from "../testing/schema.ts";
import { providerDiagnostic } from "./attribute-location.ts";
import { bindBody, RESOURCE_META } from "./bind-body.ts";
import { type SchemaBlock, schemaType } from "./block-schema.ts";
import { type EvaluateBodyOptions, type EvaluatedBody, evaluateBody } from "./evaluate-body.ts";

const RULE = block({ port: attribute(Type.number), name: attribute(Type.string) });
const SCHEMA = block(
  {
    name: attribute(Type.string),
    size: attribute(Type.number),
    tags: attribute(Type.map(Type.string)),
    legacy: attribute(Type.list(Type.object({ a: Type.string, b: Type.number }))),
    secret: attribute(Type.string, { writeOnly: true }),
    net: nestedAttribute("single", {
      cidr: attribute(Type.string, { required: true }),
      v6: attribute(Type.bool),
    }),
    ports: nestedAttribute("list", { from: attribute(Type.number), to: attribute(Type.number) }),
  },
  {
    one: nestedBlock("single", RULE),
    group: nestedBlock(
      "group",
      block({ x: attribute(Type.number) }, { rule: nestedBlock("list", RULE) }),
    ),
    rule: nestedBlock("list", RULE, { maxItems: 4 }),
    ruleset: nestedBlock("set", RULE),
    named: nestedBlock("map", RULE),
    outer: nestedBlock("list", block({}, { inner: nestedBlock("list", RULE) })),
  },
);

const SCOPE = createScope({
  functions: consoleScope().functions,
  variables: {
    text: Value.string("x"),
    list: Value.list([Value.string("a"), Value.string("b")]),
    map: Value.map({ k: Value.number(1), l: Value.number(2) }),
    later: Value.unknown(Type.list(Type.string)),
    open: Value.dynamic,
    hidden: Value.string("s").mark(Mark.sensitive),
    hidden_list: Value.list([Value.string("s")]).mark(Mark.sensitive),
    passing: Value.string("e").mark(Mark.ephemeral),
    passing_list: Value.list([Value.string("e")]).mark(Mark.ephemeral),
  },
});

function parse(text: string): { body: ConfigBody; diagnostics: Diagnostic[] } {
  if (text.startsWith("{ ") || text.startsWith("[")) {
    const { root, diagnostics } = parseJson({ name: "t.tf.json", text });
    const found = [...diagnostics];
    return { body: jsonRootBody(root, found), diagnostics: found };
  }
  const { body, diagnostics } = parseFile({ name: "t.tf", text });
  return { body, diagnostics: [...diagnostics] };
}

function run(
  text: string,
  schema: SchemaBlock = SCHEMA,
  options: EvaluateBodyOptions = {},
): { evaluated: EvaluatedBody; diagnostics: Diagnostic[]; references: string[] } {
  const { body, diagnostics } = parse(text);
  const bound = bindBody(body, schema, { meta: RESOURCE_META });
  const evaluated = evaluateBody(bound.body, SCOPE, options);
  return {
    evaluated,
    diagnostics: [...diagnostics, ...bound.diagnostics, ...evaluated.diagnostics],
    references: bound.references.map(({ source, start, end }) => source.text.slice(start, end)),
  };
}

/** What is not null and not empty, in one line. */
function show(value: Value): string {
  const [plain, marks] = value.unmark();
  const mark = marks.isEmpty ? "" : `${marks.toString()}:`;
  if (!plain.isKnown) return `${mark}unknown`;
  if (plain.isNull) return `${mark}null`;
  switch (plain.type.kind) {
    case "object": {
      const parts = [...plain.entries()].map(([name, part]) => `${name}=${show(part)}`);
      return `${mark}{${parts.filter((part) => !/=(?:null|\[\]|\{\})$/.test(part)).join(" ")}}`;
    }
    case "map":
      return `${mark}{${[...plain.entries()].map(([name, part]) => `${name}:${show(part)}`).join(" ")}}`;
    case "list":
    case "set":
    case "tuple":
      return `${mark}[${plain.elements().map(show).join(" ")}]`;
    case "bool":
    case "capsule":
    case "dynamic":
    case "number":
    case "string":
    default:
      return mark + valueText(plain);
  }
}

function value(text: string, schema?: SchemaBlock, options?: EvaluateBodyOptions): string {
  const { evaluated, diagnostics } = run(text, schema, options);
  if (diagnostics.length > 0) return diagnostics.map(({ summary }) => summary).join("; ");
  expect(evaluated.value.type.equals(schemaType(schema ?? SCHEMA))).toBe(true);
  return show(evaluated.value);
}

describe("evaluateBody, both syntaxes", () => {
  it.each([
    ["", "{ }", "{}"],
    ['name = "a${text}"\nsize = "5"', '{ "name": "a${text}", "size": "5" }', '{name="ax" size=5}'],
    ["tags = { a = text }", '{ "tags": { "a": "${text}" } }', '{tags={a:"x"}}'],
    ["one { port = 1 }", '{ "one": { "port": 1 } }', "{one={port=1}}"],
    ["group { x = 1 }", '{ "group": [{ "x": 1 }] }', "{group={x=1}}"],
    [
      "rule { port = 1 }\nrule { port = 2 }",
      '{ "rule": [{ "port": 1 }, { "port": 2 }] }',
      "{rule=[{port=1} {port=2}]}",
    ],
    [
      "ruleset { port = 1 }\nruleset { port = 1 }",
      '{ "ruleset": [{ "port": 1 }, { "port": 1 }] }',
      "{ruleset=[{port=1}]}",
    ],
    [
      'named "a" { port = 1 }\nnamed "b" {}',
      '{ "named": { "a": { "port": 1 }, "b": {} } }',
      "{named={a:{port=1} b:{}}}",
    ],
    ["rule {}\nrule {}", '{ "rule": [{}, {}], "//": "note" }', "{rule=[{} {}]}"],
    [
      'dynamic "rule" {\n for_each = list\n content {\n  port = rule.key\n  name = rule.value\n }\n}',
      '{ "dynamic": { "rule": { "for_each": "${list}", "content": { "port": "${rule.key}", "name": "${rule.value}" } } } }',
      '{rule=[{name="a" port=0} {name="b" port=1}]}',
    ],
    [
      'dynamic "rule" {\n for_each = map\n iterator = it\n content {\n  port = it.value\n  name = it.key\n }\n}\nrule {}',
      '{ "dynamic": { "rule": [{ "for_each": "${map}", "iterator": "it", "content": { "port": "${it.value}", "name": "${it.key}" } }] }, "rule": {} }',
      '{rule=[{name="k" port=1} {name="l" port=2} {}]}',
    ],
    [
      'dynamic "named" {\n for_each = toset(list)\n labels = ["n-${named.key}"]\n content { name = named.value }\n}',
      '{ "dynamic": { "named": { "for_each": "${toset(list)}", "labels": ["n-${named.key}"], "content": { "name": "${named.value}" } } } }',
      '{named={n-a:{name="a"} n-b:{name="b"}}}',
    ],
    [
      'dynamic "outer" {\n for_each = list\n content {\n  dynamic "inner" {\n   for_each = map\n   content {\n    port = inner.value\n    name = outer.value\n   }\n  }\n }\n}',
      '{ "dynamic": { "outer": { "for_each": "${list}", "content": { "dynamic": { "inner": { "for_each": "${map}", "content": { "port": "${inner.value}", "name": "${outer.value}" } } } } } } }',
      '{outer=[{inner=[{name="a" port=1} {name="a" port=2}]} {inner=[{name="b" port=1} {name="b" port=2}]}]}',
    ],
    ['net = { cidr = "10/8" }', '{ "net": { "cidr": "10/8" } }', '{net={cidr="10/8"}}'],
    [
      "ports = [{ from = 1 }, { to = 2 }]",
      '{ "ports": [{ "from": 1 }, { "to": 2 }] }',
      "{ports=[{from=1} {to=2}]}",
    ],
    ["legacy = []", '{ "legacy": [] }', "{}"],
  ])("%j", (hcl, json, expected) => {
    expect([value(hcl), value(json)]).toEqual([expected, expected]);
  });
});

describe("attributes written as blocks", () => {
  const none = 'dynamic "legacy" {\n for_each = []\n content {}\n}';
  const legacyOf = (text: string, schema = SCHEMA) => {
    const { evaluated, diagnostics } = run(text, schema);
    const value = new Map(evaluated.value.entries()).get("legacy");
    return { isNull: value?.isNull, summaries: diagnostics.map(({ summary }) => summary) };
  };

  it("are not set by dynamic blocks over nothing, as an empty list would mean that there are to be none", () => {
    expect(legacyOf(none)).toEqual({ isNull: true, summaries: [] });
    expect(legacyOf("legacy = []")).toEqual({ isNull: false, summaries: [] });
    expect(legacyOf(`legacy {}\n${none}`)).toEqual({ isNull: false, summaries: [] });
  });

  it("are missing without blocks where they are required", () => {
    const type = Type.list(Type.object({ a: Type.string }));
    const required = block({ legacy: attribute(type, { required: true }) });
    expect(legacyOf(none, required).summaries).toEqual(["Missing required argument"]);
  });
});

describe("evaluateBody", () => {
  it.each([
    ['legacy {\n a = "1"\n}\nlegacy {\n b = 2\n}', '{legacy=[{a="1"} {b=2}]}'],
    [
      'dynamic "legacy" {\n for_each = list\n content { a = legacy.value }\n}',
      '{legacy=[{a="a"} {a="b"}]}',
    ],
    ['dynamic "legacy" {\n for_each = later\n content { a = legacy.value }\n}', "{legacy=unknown}"],
    ['legacy {}\ndynamic "legacy" {\n for_each = []\n content {}\n}', "{legacy=[{}]}"],
    ['_ {\n name = "escaped"\n}', '{name="escaped"}'],
    ["count = 3\nlifecycle {}\nprovider = x.y", "{}"],
    ["name = hidden", '{name=sensitive:"s"}'],
    ["tags = { a = hidden }", '{tags={a:sensitive:"s"}}'],
    ['dynamic "rule" {\n for_each = later\n content { name = rule.value }\n}', "{rule=unknown}"],
    [
      'dynamic "rule" {\n for_each = open\n content { name = rule.value }\n}\nrule {}',
      "{rule=unknown}",
    ],
    ['dynamic "one" {\n for_each = later\n content { name = one.value }\n}', "{one=unknown}"],
    ['dynamic "group" {\n for_each = later\n content {}\n}', "{group=unknown}"],
    ['dynamic "ruleset" {\n for_each = later\n content {}\n}', "{ruleset=unknown}"],
    [
      'dynamic "named" {\n for_each = later\n labels = [named.value]\n content {}\n}',
      "{named=unknown}",
    ],
    ['dynamic "rule" {\n for_each = []\n content {}\n}', "{}"],
    [
      'dynamic "rule" {\n for_each = hidden_list\n content { name = rule.value }\n}',
      '{rule=sensitive:[{name="s"}]}',
    ],
    ["secret = passing", '{secret=ephemeral:"e"}'],
    ["name = open", "{name=unknown}"],
    ["name = null", "{}"],
  ])("%j", (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  it("allows ephemeral values everywhere where nothing is stored", () => {
    expect(value("name = passing", SCHEMA, { ephemeral: "everywhere" })).toBe(
      '{name=ephemeral:"e"}',
    );
  });

  it.each([
    ["nam = 1", "Unsupported argument", 'Did you mean "name"?'],
    ["rulez {}", "Unsupported block type", 'Did you mean "rule"?'],
    [
      'dynamic "rulez" {\n for_each = []\n content {}\n}',
      "Unsupported block type",
      'Did you mean "rule"?',
    ],
    ["rule = []", "Unsupported argument", '"rule" is a block'],
    ["name {}", "Unsupported block type", '"name" is an argument'],
    ["size = list", "Incorrect attribute value type", '"size"'],
    ["one {}\none {}", "Duplicate one block", "Only one"],
    ["rule {}\nrule {}\nrule {}\nrule {}\nrule {}", "Too many rule blocks", "At most 4"],
    ['named "a" {}\nnamed "a" {}', "Duplicate block label", '"a"'],
    ["named {}", "Missing key for named", ""],
    [
      'dynamic "rule" {\n for_each = text\n content {}\n}',
      "Invalid dynamic for_each value",
      "not string",
    ],
    [
      'dynamic "rule" {\n for_each = null\n content {}\n}',
      "Invalid dynamic for_each value",
      "null",
    ],
    ['dynamic "rule" {\n for_each = []\n}', "Missing dynamic content block", ""],
    ['dynamic "rule" {\n content {}\n}', "Missing required argument", '"for_each"'],
    [
      'dynamic "named" {\n for_each = list\n content {}\n}',
      "Insufficient dynamic block labels",
      "",
    ],
    [
      'dynamic "rule" {\n for_each = list\n labels = ["x"]\n content {}\n}',
      "Extraneous dynamic block label",
      "",
    ],
    [
      'dynamic "rule" {\n for_each = list\n labels = []\n content {}\n}',
      "Extraneous dynamic block label",
      "no labels",
    ],
    [
      'dynamic "named" {\n for_each = list\n labels = ["a", "b"]\n content {}\n}',
      "Insufficient dynamic block labels",
      "one label",
    ],
    ["net = {}", "Incorrect attribute value type", "cidr"],
    ['net = { cidr = "a", v5 = true }', "Object attribute has no effect", 'Did you mean "v6"?'],
    ["name = passing", "Invalid use of ephemeral value", "write-only"],
    [
      'dynamic "rule" {\n for_each = passing_list\n content {}\n}',
      "Invalid use of ephemeral value",
      "how many",
    ],
    ["name = nothing", "Reference to undeclared name", ""],
    ["name = 1\n_ {\n name = 2\n}", "Duplicate argument", ""],
  ])("%j: %s", (text, summary, detail) => {
    const { diagnostics } = run(text);
    expect(diagnostics.map((diagnostic) => diagnostic.summary)).toEqual([summary]);
    expect(diagnostics[0]?.detail).toContain(detail);
    expect(diagnostics[0]?.subject?.source.name).toBe("t.tf");
  });

  it("reports arguments and blocks that must be there, and what the provider decides", () => {
    const schema = block(
      {
        need: attribute(Type.string, { required: true }),
        id: attribute(Type.string, { computed: true, optional: false }),
        old: attribute(Type.string, { deprecated: true }),
      },
      {
        rule: nestedBlock("list", RULE, { minItems: 2 }),
        one: nestedBlock("single", RULE, { minItems: 1 }),
      },
    );
    expect(value('id = "x"\nold = "y"\nrule {}', schema).split("; ")).toEqual([
      "Argument is deprecated",
      "Missing required argument",
      "Value for unconfigurable attribute",
      "Missing one block",
      "Insufficient rule blocks",
    ]);
    expect(value("need = null\nrule {}\nrule {}\none {}", schema)).toBe(
      "Missing required argument",
    );
    const later = 'need = "x"\ndynamic "rule" {\n for_each = later\n content {}\n}\none {}';
    expect(value(later, schema)).toBe('{need="x" rule=unknown}');
  });

  it("shows the values of references in a problem", () => {
    const { diagnostics } = run("size = list");
    expect(diagnostics[0]?.values).toEqual([
      { traversal: "list", statement: "is list of string with 2 elements" },
    ]);
  });

  it("finds references without iterators", () => {
    const text =
      'name = a.b\ncount = c.d\ndynamic "rule" {\n for_each = e.f\n content {\n  name = rule.value\n  port = g.h\n }\n}\nrule { name = rule.x }';
    expect(run(text).references).toEqual(
      ["a.b", "rule.x", "e.f", "g.h"].toSorted((x, y) => text.indexOf(x) - text.indexOf(y)),
    );
  });

  it("makes tuples and objects of blocks with attributes of any type", () => {
    const any = block({ v: attribute(Type.dynamic) });
    const schema = block({}, { l: nestedBlock("list", any), m: nestedBlock("map", any) });
    const { evaluated } = run('l { v = 1 }\nl { v = "x" }\nm "k" { v = true }', schema);
    expect(show(evaluated.value)).toBe('{l=[{v=1} {v="x"}] m={k={v=true}}}');
  });
});

describe("places of paths", () => {
  const TEXT = [
    'name = "n"',
    'tags = { a = "x" }',
    "ports = [{ from = 1 }, { to = 2 }]",
    "rule { port = 1 }",
    'dynamic "rule" {',
    "  for_each = list",
    "  content { name = rule.value }",
    "}",
    'named "k" { port = 3 }',
    "ruleset { port = 7 }",
  ].join("\n");
  const { evaluated } = run(TEXT);

  it.each([
    [Path.root.attribute("name"), '"n"', []],
    [Path.root.attribute("tags").index("a"), '"x"', []],
    [Path.root.attribute("tags").index("b"), '{ a = "x" }', []],
    [Path.root.attribute("ports").index(1).attribute("to"), "2", []],
    [Path.root.attribute("rule").index(0).attribute("port"), "1", []],
    [Path.root.attribute("rule").index(2).attribute("name"), "rule.value", ["rule[1]"]],
    [Path.root.attribute("rule").index(2).attribute("port"), 'dynamic "rule"', ["rule[1]"]],
    [Path.root.attribute("rule").index(9), "rule", []],
    [Path.root.attribute("named").index("k").attribute("port"), "3", []],
  ])("%s", (path, text, elements) => {
    const place = evaluated.locate(path);
    const { source, start, end } = place.subject;
    expect([source.text.slice(start, end), place.elements]).toEqual([text, elements]);
  });

  it("finds the block that an element of a set was made from", () => {
    const [element] =
      [...evaluated.value.entries()].find(([name]) => name === "ruleset")?.[1].elements() ?? [];
    const path = Path.root
      .attribute("ruleset")
      .index(element ?? Value.dynamic)
      .attribute("port");
    const { source, start, end } = evaluated.locate(path).subject;
    expect(source.text.slice(start, end)).toBe("7");
  });

  it("puts what a provider says at its place", () => {
    const problem = { severity: "error", summary: "Bad name", detail: "No." } as const;
    const attributePath = Path.root.attribute("rule").index(2).attribute("name");
    const placed = providerDiagnostic(evaluated, { ...problem, attribute: attributePath }, "res.a");
    expect(placed).toMatchObject({
      code: "LANG_PROVIDER",
      address: "res.a",
      detail: "No.\n\nThe block was made for rule[1].",
    });
    expect(placed.subject?.source.locate(placed.subject.start, placed.subject.end).start.line).toBe(
      7,
    );
    const missing = { ...problem, attribute: Path.root.attribute("size") };
    expect(providerDiagnostic(evaluated, missing).detail).toBe("No.\n\nThis is about size.");
  });
});
