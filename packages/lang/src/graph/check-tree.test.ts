import { Type } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { loadModuleTree } from "../config/load-tree.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { attribute, block, nestedBlock } from "../testing/schema.ts";
import { checkTree } from "./check-tree.ts";

const CHILD =
  'variable "old" {\n  default = 1\n  deprecated = "Use other."\n}\noutput "out" { value = 1 }\noutput "gone" {\n  value = 1\n  deprecated = "Use out."\n}';

async function check(main: string): Promise<string[]> {
  const { root } = await loadModuleTree(memoryBundle({ "main.tf": main, "m/main.tf": CHILD }));
  return checkTree(root).map(
    ({ severity, summary, detail }) => `${severity}: ${summary}: ${detail}`,
  );
}

const ONE = 'module "m" { source = "./m" }\n';
const MANY = 'module "m" {\n  source = "./m"\n  count = 2\n}\n';

describe("checkTree", () => {
  it.each([
    [`${ONE}output "o" { value = module.m.out }`],
    [`${MANY}output "o" { value = module.m[0].out }`],
    [`${MANY}output "o" { value = module.m[*].out }`],
    [`${MANY}output "o" { value = [for x in module.m : x.out] }`],
    ['resource "r" "a" { count = 1 }\noutput "o" { value = [r.a[0].id, r.a[*].id, length(r.a)] }'],
  ])("accepts %j", async (main) => {
    expect(await check(main)).toEqual([]);
  });

  it.each([
    [
      `${ONE}output "o" { value = module.m.otu }`,
      'warning: Unsupported attribute: The module has no output "otu". Did you mean "out"?',
    ],
    [
      `${ONE}output "o" { value = module.m.gone }`,
      "warning: Deprecated output value: module.m.gone: Use out.",
    ],
    [
      'module "m" {\n  source = "./m"\n  old = 2\n}',
      "warning: Deprecated input variable: Use other.",
    ],
    [
      `${MANY}output "o" { value = module.m.out }`,
      "warning: Missing instance key: module.m is repeated by count",
    ],
    [
      `${ONE}output "o" { value = module.m[0].out }`,
      "warning: Unexpected instance key: module.m has neither",
    ],
    [
      'resource "r" "a" { for_each = {} }\noutput "o" { value = r.a.id }',
      "error: Missing instance key: r.a is repeated by for_each",
    ],
    [
      'resource "r" "a" {}\noutput "o" { value = r.a["k"].id }',
      "error: Unexpected instance key: r.a has neither",
    ],
    ['output "o" {\n  value = 1\n  ephemeral = true\n}', "error: Ephemeral output not allowed"],
    ['output "o" { value = r.a.id }', "error: Reference to undeclared resource"],
  ])("reports %j", async (main, expected) => {
    const [found, more] = await check(main);
    expect(found?.slice(0, expected.length)).toBe(expected);
    expect(more).toBeUndefined();
  });

  it("only warns of what may never be evaluated", async () => {
    const dynamic =
      'resource "r" "a" {\n  dynamic "b" {\n    for_each = []\n    content { x = local.nope }\n  }\n}';
    expect((await check(dynamic)).map((text) => text.split(":")[0])).toEqual(["warning"]);
    const written = 'resource "r" "a" {\n  b { x = local.nope }\n}';
    expect((await check(written)).map((text) => text.split(":")[0])).toEqual(["error"]);
  });

  it("knows attributes where schemas are given", async () => {
    const text = (attribute_: string): string =>
      `resource "r" "a" {}\noutput "o" { value = r.a.${attribute_} }`;
    const net = nestedBlock("single", block({ cidr: attribute(Type.string) }));
    const schema = block(
      { id: attribute(Type.string) },
      { net, many: nestedBlock("list", block({})) },
    );
    const found = async (name: string): Promise<string | undefined> => {
      const { root } = await loadModuleTree(memoryBundle({ "main.tf": text(name) }));
      return checkTree(root, { schemaOf: () => schema })[0]?.detail;
    };
    expect(await found("id")).toBeUndefined();
    expect(await found("net.cidr")).toBeUndefined();
    expect(await found("many[0].any")).toBeUndefined();
    expect(await found("idd")).toContain('Did you mean "id"?');
    expect(await found("net.cdir")).toContain('Did you mean "cidr"?');
  });

  it("says in which module", async () => {
    const { root } = await loadModuleTree(
      memoryBundle({ "main.tf": ONE, "m/main.tf": 'output "o" { value = var.nope }' }),
    );
    expect(checkTree(root)).toMatchObject([{ address: "module.m" }]);
  });
});
