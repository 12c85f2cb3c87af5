import { deepMarks, findContradiction, Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonRootBody } from "../config/body-content.ts";
import { exportJson } from "../config/export-json.ts";
import { consoleScope } from "../console/console.ts";
import { createScope } from "../eval/scope.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseFile } from "../syntax/parse.ts";
import { attribute, block, nestedAttribute, nestedBlock } from "../testing/schema.ts";
import { bindBody } from "./bind-body.ts";
import { schemaType } from "./block-schema.ts";
import { type EvaluatedBody, evaluateBody } from "./evaluate-body.ts";

/* Random bodies over one schema with all nestings, and random values for what they refer to. */

const RULE = block({ port: attribute(Type.number), name: attribute(Type.string) });
const NESTED = {
  one: nestedBlock("single", RULE),
  group: nestedBlock("group", RULE),
  list: nestedBlock("list", RULE),
  set: nestedBlock("set", RULE),
  map: nestedBlock("map", RULE),
};
const SCHEMA = block(
  {
    text: attribute(Type.string),
    number: attribute(Type.number),
    strings: attribute(Type.list(Type.string)),
    tags: attribute(Type.map(Type.string)),
    legacy: attribute(Type.list(Type.object({ port: Type.number, name: Type.string }))),
    nested: nestedAttribute("list", { port: attribute(Type.number), name: attribute(Type.string) }),
  },
  { ...NESTED, outer: nestedBlock("list", block({}, NESTED)) },
);

const VALUES: Readonly<Record<string, Value>> = {
  s: Value.string("s"),
  n: Value.number(7),
  l: Value.list([Value.string("a"), Value.string("b")]),
  e: Value.list([], Type.string),
  m: Value.map({ x: Value.number(1), y: Value.number(2) }),
};

const { functions } = consoleScope();

const text = fc.constantFrom("s", '"x-${s}"', "upper(s)", '"k"', "l[0]", 'join("", l)');
const number = fc.constantFrom("n", "n + 1", "length(l)", "length(m)", "3", "m.x");
const content = (iterator: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.option(fc.oneof(text, fc.constant(`"\${${iterator}}-\${s}"`)), { nil: undefined }),
      fc.option(number, { nil: undefined }),
    )
    .map(([name, port]) =>
      [
        name === undefined ? "" : `name = ${name}\n`,
        port === undefined ? "" : `port = ${port}\n`,
      ].join(""),
    );

const forEach = fc.constantFrom("l", "e", "m", "toset(l)", "[s, n]", "n > 5 ? l : e", "keys(m)");

function written(type: string): fc.Arbitrary<string> {
  const label = type === "map" ? ' "k"' : "";
  return content("s").map((body) => `${type}${label} {\n${body}}\n`);
}

function dynamic(type: string): fc.Arbitrary<string> {
  const labels = type === "map" ? "labels = [it.key]\n" : "";
  return fc.tuple(forEach, content("it.key")).map(([each, body]) => {
    return `dynamic "${type}" {\nfor_each = ${each}\niterator = it\n${labels}content {\n${body}}\n}\n`;
  });
}

const nestedBlocks = fc
  .record({
    one: fc.option(written("one"), { nil: "" }),
    group: fc.option(written("group"), { nil: "" }),
    list: fc.array(fc.oneof(written("list"), dynamic("list")), { maxLength: 3 }),
    set: fc.array(fc.oneof(written("set"), dynamic("set")), { maxLength: 2 }),
    map: fc.oneof(written("map"), dynamic("map"), fc.constant("")),
  })
  .map(({ one, group, list, set, map }) => [one, group, ...list, ...set, map].join(""));

const bodyText = fc
  .record({
    text,
    number,
    strings: fc.constantFrom("l", "e", "[s, n]", "[for x in l : upper(x)]"),
    tags: fc.constantFrom("m", "{ a = s }", "{ (s) = n }", "{ for k, v in m : k => v }"),
    legacy: fc.oneof(
      fc.constantFrom("legacy = []\n", "legacy = [{ port = n, name = s }]\n", ""),
      written("legacy"),
      dynamic("legacy"),
    ),
    nested: fc.constantFrom("[{ port = n }, { name = s }]", "[for x in l : { name = x }]"),
    blocks: nestedBlocks,
    outer: fc.array(nestedBlocks, { maxLength: 2 }),
  })
  .map(
    (b) =>
      `text = ${b.text}\nnumber = ${b.number}\nstrings = ${b.strings}\ntags = ${b.tags}\n${b.legacy}nested = ${b.nested}\n${b.blocks}${b.outer.map((inner) => `outer {\n${inner}}\n`).join("")}`,
  );

function run(body: string, values: Readonly<Record<string, Value>>, json = false): EvaluatedBody {
  const file = parseFile({ name: "t.tf", text: body });
  expect(file.diagnostics).toEqual([]);
  const source = json
    ? jsonRootBody(parseJson({ name: "t.tf.json", text: exportJson(file).text }).root, [])
    : file.body;
  const bound = bindBody(source, SCHEMA);
  expect(bound.diagnostics).toEqual([]);
  const scope = createScope({ functions, variables: values });
  return evaluateBody(bound.body, scope);
}

const names = fc.subarray(Object.keys(VALUES), { minLength: 1 });

describe("evaluateBody", { timeout: 600_000 }, () => {
  it("gives values of the type of the schema", () => {
    fc.assert(
      fc.property(bodyText, (body) => {
        const { value } = run(body, VALUES);
        expect(value.type.equals(schemaType(SCHEMA))).toBe(true);
      }),
    );
  });

  it("gives with unknown inputs what the known result refines", () => {
    fc.assert(
      fc.property(bodyText, names, fc.boolean(), (body, unknown, open) => {
        const known = run(body, VALUES);
        fc.pre(!hasErrors(known.diagnostics));
        const values = { ...VALUES };
        for (const name of unknown) {
          const { type } = values[name] ?? Value.dynamic;
          values[name] = open ? Value.dynamic : Value.unknown(type);
        }
        const { value, diagnostics } = run(body, values);
        // A label must be known unless the number of blocks is not.
        fc.pre(!diagnostics.some(({ summary }) => summary === "Invalid dynamic block label"));
        expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        expect(findContradiction(value, known.value)?.toString()).toBeUndefined();
      }),
    );
  });

  it("loses no marks and changes no values by them", () => {
    fc.assert(
      fc.property(bodyText, names, (body, marked) => {
        const plain = run(body, VALUES);
        fc.pre(!hasErrors(plain.diagnostics));
        const values = { ...VALUES };
        for (const name of marked)
          values[name] = (values[name] ?? Value.dynamic).mark(Mark.sensitive);
        const { value } = run(body, values);
        expect(unmarkDeep(value)[0].rawEquals(plain.value)).toBe(true);
        // Everything that is used anywhere shows, if nothing else then in `nested` and `text`.
        const all = run(
          body,
          Object.fromEntries(Object.entries(VALUES).map(([n, v]) => [n, v.mark(Mark.sensitive)])),
        );
        expect(deepMarks(all.value).has(Mark.sensitive)).toBe(true);
      }),
    );
  });

  it("gives the same for the same body in JSON", () => {
    fc.assert(
      fc.property(bodyText, (body) => {
        // In JSON an attribute that is a list of objects is never a block.
        fc.pre(!/^legacy \{|"legacy"/m.test(body));
        const [native, json] = [run(body, VALUES), run(body, VALUES, true)];
        expect(json.value.rawEquals(native.value)).toBe(true);
        expect(json.diagnostics.length).toBe(native.diagnostics.length);
      }),
    );
  });
});
