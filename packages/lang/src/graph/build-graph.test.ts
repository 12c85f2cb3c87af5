import { describe, expect, it } from "vitest";
import { parseAddress } from "../address/parse-address.ts";
import { loadModuleTree } from "../config/load-tree.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { buildGraph, type ConfigGraph } from "./build-graph.ts";
import { graphClosure, nodesOf } from "./graph-query.ts";
import { resolveProviders } from "./resolve-providers.ts";

async function graphOf(files: Record<string, string>): Promise<ConfigGraph> {
  const { root, diagnostics } = await loadModuleTree(memoryBundle(files));
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return buildGraph(root, resolveProviders(root));
}

/** `a -> b, c` for every node that waits for something; providers left out. */
function edges({ nodes }: ConfigGraph): string[] {
  return [...nodes.values()].flatMap(({ id, dependencies }) => {
    const targets = [...dependencies.keys()].map((node) => node.id);
    const shown = targets.filter((target) => !target.includes("provider["));
    return shown.length === 0 ? [] : [`${id} -> ${shown.join(", ")}`];
  });
}

function isOrdered({ order }: ConfigGraph): boolean {
  const at = new Map(order.map((node, position) => [node, position]));
  return order.every((node) =>
    [...node.dependencies.keys()].every((to) => (at.get(to) ?? 0) < (at.get(node) ?? 0)),
  );
}

const TREE = {
  "main.tf": `
variable "v" {
  validation {
    condition     = local.k != ""
    error_message = "no"
  }
}
locals {
  l = var.v
  k = "k"
}
provider "p" { region = local.l }
resource "p_a" "x" {
  count = length(local.l)
  name  = data.p_b.y.id
  lifecycle {
    replace_triggered_by = [p_a.z]
    postcondition {
      condition     = self.id != local.l
      error_message = "no"
    }
  }
}
resource "p_a" "z" { depends_on = [module.m] }
data "p_b" "y" {}
module "m" {
  source     = "./m"
  for_each   = toset([local.l])
  in         = each.key
  depends_on = [data.p_b.y]
}
output "all" { value = module.m }
output "one" { value = module.m["k"].out }
check "c" {
  data "p_b" "s" { name = p_a.x[0].id }
  assert {
    condition     = data.p_b.s.ok
    error_message = "no"
  }
}
import {
  to = p_a.z
  id = local.l
}
`,
  "m/main.tf": `
variable "in" {}
resource "p_a" "i" { name = var.in }
output "out" { value = p_a.i.id }
output "other" { value = 1 }
`,
};

describe("buildGraph", () => {
  it("connects everything that is declared", async () => {
    const graph = await graphOf(TREE);
    expect(graph.diagnostics).toEqual([]);
    expect(edges(graph)).toEqual([
      "var.v (validation) -> local.k, var.v",
      "local.l -> var.v, var.v (validation)",
      "p_a.x -> local.l, data.p_b.y, p_a.z",
      "p_a.z -> module.m (end), local.l",
      "data.p_b.s -> p_a.x",
      "check.c -> data.p_b.s",
      "module.m -> local.l, data.p_b.y",
      "module.m.var.in -> module.m",
      "module.m.p_a.i -> module.m, module.m.var.in",
      "module.m.output.out -> module.m, module.m.p_a.i",
      "module.m.output.other -> module.m",
      "module.m (outputs) -> module.m (end)",
      "module.m (end) -> module.m, module.m.output.out, module.m.output.other, module.m.var.in, module.m.p_a.i",
      "output.all -> module.m (outputs)",
      "output.one -> module.m.output.out",
      'provider["registry.terraform.io/hashicorp/p"] -> local.l',
    ]);
    expect(isOrdered(graph)).toBe(true);
    const provider = graph.nodes.get('provider["registry.terraform.io/hashicorp/p"]');
    expect([...(provider?.dependents ?? [])].map(({ id }) => id)).toEqual([
      "p_a.x",
      "p_a.z",
      "data.p_b.y",
      "data.p_b.s",
      "module.m.p_a.i",
    ]);
  });

  it("says why, and where", async () => {
    const graph = await graphOf(TREE);
    const z = graph.nodes.get("p_a.z");
    const reasons = [...(z?.dependencies ?? [])].map(([node, { kind, range }]) => [
      node.id,
      kind,
      range?.source.text.slice(range.start, range.end),
    ]);
    expect(reasons).toEqual([
      ["module.m (end)", "depends_on", "module.m"],
      ['provider["registry.terraform.io/hashicorp/p"]', "provider", 'resource "p_a" "z"'],
      ["local.l", "import", "local.l"],
    ]);
  });

  it("gives the same order for the same configuration", async () => {
    const [a, b] = [await graphOf(TREE), await graphOf(TREE)];
    expect(a.order.map(({ id }) => id)).toEqual(b.order.map(({ id }) => id));
  });

  it("gives the same graph for JSON", async () => {
    const hcl =
      'resource "p_a" "x" {\n  name = p_a.y.id\n  rule { port = local.l }\n}\nresource "p_a" "y" {}\nlocals {\n  l = 1\n}';
    const json = `{ "resource": { "p_a": { "x": { "name": "\${p_a.y.id}", "rule": [{ "port": "\${local.l}" }] }, "y": {} } }, "locals": { "l": 1 } }`;
    expect(edges(await graphOf({ "main.tf.json": json }))).toEqual(
      edges(await graphOf({ "main.tf": hcl })),
    );
  });

  it("distinguishes resources from traversals that look like their types", async () => {
    const graph = await graphOf({
      "main.tf":
        'output "x" { value = resource.output.x.id }\nresource "output" "x" {}\nresource "local" "y" {}\nlocals { y = resource.local.y }',
    });
    expect(edges(graph)).toEqual(["local.y -> resource.local.y", "output.x -> resource.output.x"]);
  });

  it("reports cycles with their ways", async () => {
    const { diagnostics, order } = await graphOf({
      "main.tf":
        'locals {\n  a = local.b\n  b = module.m.out\n}\nmodule "m" {\n  source = "./m"\n  in = p_x.r.id\n}\nresource "p_x" "r" {\n  depends_on = [local.a]\n}',
      "m/main.tf": 'variable "in" {}\noutput "out" { value = var.in }',
    });
    expect(order.length).toBe(9);
    expect(diagnostics.map(({ code, detail }) => [code, detail])).toEqual([
      [
        "LANG_CYCLE",
        `These depend on each other, so that none of them can be the first:

  - local.a refers to local.b (main.tf line 2)
  - local.b refers to module.m.output.out (main.tf line 3)
  - module.m.output.out refers to module.m.var.in (m/main.tf line 2)
  - module.m.var.in refers to p_x.r (main.tf line 7)
  - p_x.r depends by depends_on on local.a (main.tf line 10)`,
      ],
    ]);
  });

  it("reports references of things to themselves", async () => {
    const { diagnostics } = await graphOf({
      "main.tf":
        'resource "p_x" "r" {\n  count = 2\n  name = p_x.r[0].id\n}\nlocals {\n  l = local.l\n}',
    });
    expect(diagnostics.map(({ summary, detail }) => [summary, detail.split(" ")[0]])).toEqual([
      ["Self-referential block", "local.l"],
      ["Self-referential block", "p_x.r"],
    ]);
  });

  it("finds that a condition of a variable needs what uses the variable, which waits for the condition", async () => {
    const { diagnostics } = await graphOf({
      "main.tf":
        'variable "v" {\n  validation {\n    condition = local.l > var.v\n    error_message = ""\n  }\n}\nlocals {\n  l = var.v + 1\n}',
    });
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_CYCLE"]);
  });

  it("lets conditions of a variable wait for those of the variables that they refer to", async () => {
    const condition = 'validation {\n condition = var.v != var.w\n error_message = ""\n }';
    const own = 'validation {\n condition = var.w != ""\n error_message = ""\n }';
    const graph = await graphOf({
      "main.tf": `variable "v" {\n ${condition}\n}\nvariable "w" {\n ${own}\n}`,
    });
    expect(graph.diagnostics).toEqual([]);
    const node = graph.nodes.get("var.v (validation)");
    expect([...(node?.dependencies.keys() ?? [])].map(({ id }) => id).toSorted()).toEqual([
      "var.v",
      "var.w",
      "var.w (validation)",
    ]);
    const { diagnostics } = await graphOf({
      "main.tf": `variable "v" {\n ${condition}\n}\nvariable "w" {\n ${condition}\n}`,
    });
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_CYCLE"]);
  });

  it("finds what a target needs and what needs it", async () => {
    const graph = await graphOf(TREE);
    const ids = (text: string, direction: "dependencies" | "dependents"): string[] => {
      const { value } = parseAddress(text);
      if (value === undefined) throw new Error(text);
      const nodes = graphClosure(nodesOf(graph, value), direction);
      return [...nodes].map(({ id }) => id).filter((id) => !id.startsWith("provider"));
    };
    expect(ids('module.m["k"].p_a.i', "dependencies").toSorted()).toEqual(
      [
        "module.m.p_a.i",
        "module.m",
        "local.l",
        "data.p_b.y",
        "module.m.var.in",
        "var.v",
        "var.v (validation)",
        "local.k",
      ].toSorted(),
    );
    expect(ids("p_a.x[0]", "dependents")).toEqual(["p_a.x", "data.p_b.s", "check.c"]);
    expect(ids("module.m", "dependencies")).toContain("module.m.output.other");
  });

  it("copes with long chains in linear time", async () => {
    const count = 20_000;
    const locals = Array.from({ length: count }, (_, at) => `  l${at} = local.l${at + 1}`);
    const graph = await graphOf({
      "main.tf": `locals {\n${locals.join("\n")}\n  l${count} = 1\n}`,
    });
    expect(graph.diagnostics).toEqual([]);
    expect([graph.order[0]?.id, graph.order.at(-1)?.id]).toEqual([`local.l${count}`, "local.l0"]);
  });
});
