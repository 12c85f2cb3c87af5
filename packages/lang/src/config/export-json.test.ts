import { Type, Value } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { evaluate } from "../eval/evaluate.ts";
import { createScope } from "../eval/scope.ts";
import { buildGraph } from "../graph/build-graph.ts";
import { resolveProviders } from "../graph/resolve-providers.ts";
import { collectRefactoring } from "../refactor/refactoring.ts";
import { bindBody, RESOURCE_META } from "../schema/bind-body.ts";
import { evaluateBody } from "../schema/evaluate-body.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { jsonExpression } from "../syntax/json-expression.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseExpression, parseFile } from "../syntax/parse.ts";
import { expressionText } from "../testing/config-arbitrary.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { attribute, block, nestedBlock } from "../testing/schema.ts";
import { jsonRootBody } from "./body-content.ts";
import { exportJson } from "./export-json.ts";
import { loadModuleTree } from "./load-tree.ts";

function exported(text: string): string {
  const file = parseFile({ name: "main.tf", text });
  const { text: json, diagnostics } = exportJson(file);
  expect([...file.diagnostics, ...diagnostics]).toEqual([]);
  return json;
}

describe("exportJson", () => {
  it.each([
    ["a = 1.50", '{ "a": 1.50 }'],
    ["a = 9007199254740993", '{ "a": 9007199254740993 }'],
    ["a = -007", '{ "a": -7 }'],
    ['a = "x${b}y"', '{ "a": "x${b}y" }'],
    ['a = "$${b} %%{c}"', '{ "a": "$${b} %%{c}" }'],
    ['a = "q\\"\\n"', '{ "a": "q\\"\\n" }'],
    ["a = b.c[0]", '{ "a": "${b.c[0]}" }'],
    [
      'a = [1, true, null, { x = "y", (z) = 2 }]',
      '{ "a": [1, true, null, { "x": "y", "${(z)}": 2 }] }',
    ],
    ["a = { x = 1, x = 2 }", '{ "a": "${{ x = 1, x = 2 }}" }'],
    ['a = "%{ if b }c%{ endif }"', '{ "a": "${\\"%{ if b }c%{ endif }\\"}" }'],
    ['x "l" {\n  a = 1\n}\nx "m" {}\nx "l" {}', '{ "x": { "l": [{ "a": 1 }, {}], "m": {} } }'],
    [
      'variable "v" {\n  type    = list(string)\n  default = ["$${x}"]\n}',
      '{ "variable": { "v": { "type": "list(string)", "default": ["${x}"] } } }',
    ],
    [
      'resource "a" "b" {\n  depends_on = [a.c]\n  provider = a.w\n  lifecycle {\n    ignore_changes = all\n  }\n}',
      '{ "resource": { "a": { "b": { "depends_on": ["a.c"], "provider": "a.w", "lifecycle": { "ignore_changes": "all" } } } } }',
    ],
    [
      'terraform {\n  required_providers {\n    p = {\n      source = "x/y"\n      configuration_aliases = [p.a]\n    }\n  }\n}',
      '{ "terraform": { "required_providers": { "p": { "source": "x/y", "configuration_aliases": ["p.a"] } } } }',
    ],
  ])("%j", (hcl, json) => {
    expect(exported(hcl).replaceAll(/\s+/g, "")).toBe(json.replaceAll(/\s+/g, ""));
  });

  it("says what has no JSON form", () => {
    const { diagnostics } = exportJson(
      parseFile({ name: "t", text: 'variable "v" { default = upper("x") }' }),
    );
    expect(hasErrors(diagnostics)).toBe(true);
  });

  it("keeps the order of written and dynamic blocks", () => {
    const text =
      'rule { port = 1 }\ndynamic "rule" {\n  for_each = [2, 3]\n  content { port = rule.value }\n}\nrule { port = 4 }\n';
    const rule = nestedBlock("list", block({ port: attribute(Type.number) }));
    const schema = block({}, { rule });
    const { root } = parseJson({ name: "t.tf.json", text: exported(text) });
    const values = [parseFile({ name: "t.tf", text }).body, jsonRootBody(root, [])].map((body) => {
      const bound = bindBody(body, schema, { meta: RESOURCE_META });
      return evaluateBody(bound.body, consoleScope()).value;
    });
    expect(values[1]?.rawEquals(values[0] ?? Value.dynamic)).toBe(true);
  });

  it("gives expressions of the same value", () => {
    const names = ["a", "b", "name", "tags", "x-y", "größe", "in", "forest"];
    const variables = Object.fromEntries(
      names.map((name, at) => [
        name,
        at % 2 === 0 ? Value.string(name) : Value.list([Value.number(at)]),
      ]),
    );
    const scope = createScope({ functions: consoleScope().functions, variables });
    fc.assert(
      fc.property(expressionText, (text) => {
        const native = parseExpression({ name: "t", text }).value;
        const { root } = parseJson({ name: "t.json", text: exported(`x = ${text}\n`) });
        const member = root.kind === "object" ? root.members[0]?.value : undefined;
        if (member === undefined) throw new Error("no member");
        const left = evaluate(native, scope);
        const right = evaluate(jsonExpression(member, []), scope);
        expect(right.diagnostics.length).toBe(left.diagnostics.length);
        expect(right.value.rawEquals(left.value)).toBe(true);
      }),
    );
  });
});

const TREES: readonly Readonly<Record<string, string>>[] = [
  {
    "main.tf":
      'variable "names" {\n  type = set(string)\n  default = []\n  validation {\n    condition = length(var.names) < local.most\n    error_message = "at most ${local.most}"\n  }\n}\nlocals {\n  most = 5\n  all = [for n in var.names : cloud_server.a[n].id]\n}\nresource "cloud_server" "a" {\n  for_each = var.names\n  name = each.key\n  dynamic "disk" {\n    for_each = local.disks\n    iterator = d\n    content { size = d.value }\n  }\n  disk { size = data.cloud_size.s.value }\n  lifecycle {\n    ignore_changes = [name, tags["x"]]\n    replace_triggered_by = [cloud_disk.d[each.key]]\n    precondition {\n      condition = var.names != null\n      error_message = "none"\n    }\n  }\n}\nlocals {\n  disks = [1, 2]\n}\nresource "cloud_disk" "d" {\n  for_each = var.names\n  depends_on = [data.cloud_size.s]\n  _ {\n    count = local.most\n  }\n}\ndata "cloud_size" "s" {}\nephemeral "cloud_token" "t" {\n  for = local.most\n}\noutput "all" {\n  value = "${path.module}: ${jsonencode(local.all)}"\n  depends_on = [cloud_disk.d]\n}\ncheck "c" {\n  data "cloud_size" "inner" { of = cloud_server.a }\n  assert {\n    condition = data.cloud_size.inner.ok\n    error_message = <<-EOT\n      no: ${var.names == null ? "a" : "b"}\n    EOT\n  }\n}\nimport {\n  for_each = { a = "1" }\n  to = cloud_server.a[each.key]\n  id = "${each.value}-${local.most}"\n}\nmoved {\n  from = cloud_server.old\n  to = cloud_server.a["x"]\n}\nremoved {\n  from = cloud_server.gone\n  lifecycle {\n    destroy = false\n  }\n}',
  },
  {
    "main.tf":
      'terraform {\n  required_providers {\n    aws = {\n      source = "acme/aws"\n      version = "~> 1.0"\n    }\n  }\n}\nprovider "aws" {\n  region = local.region\n}\nprovider "aws" {\n  alias = "west"\n  region = "w"\n}\nlocals { region = "e" }\nmodule "m" {\n  source = "./m"\n  count = 2\n  in = [local.region, count.index]\n  providers = { aws = aws.west, aws.peer = aws }\n  depends_on = [aws_x.a]\n}\nresource "aws_x" "a" {}\noutput "o" { value = module.m[*].out }\noutput "s" {\n  value = module.m[0].out\n  sensitive = true\n}',
    "m/main.tf":
      'terraform {\n  required_providers {\n    aws = {\n      source = "acme/aws"\n      configuration_aliases = [aws.peer]\n    }\n  }\n}\nvariable "in" {}\nresource "aws_x" "i" {\n  provider = aws.peer\n  name = var.in[0]\n}\nresource "aws_x" "j" { name = aws_x.i.id }\noutput "out" { value = aws_x.j.id }',
  },
];

describe("configurations in both syntaxes", () => {
  /** Everything that is found out about a tree without values, as text. */
  async function outline(files: Readonly<Record<string, string>>): Promise<unknown> {
    const { root, diagnostics } = await loadModuleTree(memoryBundle(files));
    const providers = resolveProviders(root);
    const graph = buildGraph(root, providers);
    const { moves, removed, diagnostics: more } = collectRefactoring(root);
    return {
      problems: [...diagnostics, ...providers.diagnostics, ...graph.diagnostics, ...more].map(
        ({ summary }) => summary,
      ),
      configurations: [...providers.configurations.values()].map(
        ({ address, constraints }) => `${address} ${constraints.toString()}`,
      ),
      edges: [...graph.nodes.values()]
        .map(({ id, kind, dependencies }) => {
          const to = [...dependencies].map(([node, reason]) => `${node.id} (${reason.kind})`);
          return `${kind} ${id}: ${to.toSorted().join(", ")}`;
        })
        .toSorted(),
      moves: moves.map(({ from, to, whole }) => ({ from, to, whole })),
      removed: removed.map(({ from, destroy }) => ({ from, destroy })),
    };
  }

  it.each(TREES.map((files, index) => [index, files] as const))("tree %i", async (_, files) => {
    const json = Object.fromEntries(
      Object.entries(files).map(([name, text]) => [`${name}.json`, exported(text)]),
    );
    const expected = await outline(files);
    expect(expected).toMatchObject({
      problems: files === TREES[0] ? ["Provider is not declared"] : [],
    });
    expect(await outline(json)).toEqual(expected);
  });
});
