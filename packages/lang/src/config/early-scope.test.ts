import { Mark, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { backendArguments } from "./backend-arguments.ts";
import type { EarlyValues } from "./early-scope.ts";
import { type LoadedTree, loadModuleTree } from "./load-tree.ts";

async function load(
  files: Readonly<Record<string, string>>,
  early?: EarlyValues,
): Promise<LoadedTree & { readonly problems: readonly string[] }> {
  const tree = await loadModuleTree(memoryBundle({ "m/main.tf": "", "n/main.tf": "", ...files }), {
    ...(early && { early }),
  });
  const problems = tree.diagnostics.map(
    ({ summary, subject }) =>
      `${subject?.source.name}:${subject?.source.locate(subject.start, subject.end).start.line} ${summary}`,
  );
  return { ...tree, problems };
}

const given = (values: Readonly<Record<string, Value>>): EarlyValues => ({
  variables: () => new Map(Object.entries(values)),
  workspace: "stg",
});

const sources = ({ root }: LoadedTree): string[] =>
  [...root.config.modules.values()].map(({ source }) => source);

describe("what is evaluated before modules are loaded", () => {
  it("is made of variables, locals, functions, paths and the workspace", async () => {
    const tree = await load(
      {
        "main.tf": `variable "dir" {}
variable "fallback" { default = "n" }
locals { where = "./\${var.dir}" }
module "a" { source = local.where }
module "b" { source = "./\${trimprefix("x-\${var.fallback}", "x-")}" }
module "c" { source = path.module == "." && terraform.workspace == "stg" ? "./m" : "./none" }
`,
      },
      given({ dir: Value.string("m") }),
    );
    expect(tree.problems).toEqual([]);
    expect(sources(tree)).toEqual(["./m", "./n", "./m"]);
    expect([...tree.root.children.values()].map(({ folder }) => folder)).toEqual(["m", "n", "m"]);
  });

  it("follows arguments of calls into modules", async () => {
    const tree = await load(
      {
        "main.tf": `variable "dir" {}
resource "terraform_data" "x" {}
module "a" {
  source = "./a"
  dir    = "../\${var.dir}"
  other  = terraform_data.x.id
}
`,
        "a/main.tf": `variable "dir" {}
variable "other" {}
module "in" { source = var.dir }
`,
      },
      given({ dir: Value.string("m") }),
    );
    expect(tree.problems).toEqual([]);
    expect(tree.root.children.get("a")?.children.get("in")?.folder).toBe("m");
  });

  it("reads templates in JSON files", async () => {
    const tree = await load(
      {
        "main.tf.json": `{ "variable": { "dir": {} }, "module": { "a": { "source": "./\${var.dir}" } } }`,
      },
      given({ dir: Value.string("m") }),
    );
    expect(tree.problems).toEqual([]);
    expect(sources(tree)).toEqual(["./m"]);
  });

  it.each([
    ['module "a" { source = "./${var.unset}" }', "Value not known early"],
    ['module "a" { source = "./${local.unset}" }', "Value not known early"],
    ['module "a" { source = "./${var.secret}" }', "Sensitive value not allowed"],
    ['module "a" { source = "./${local.late}" }', "Dynamic value in static context"],
    ['module "a" { source = "./${terraform_data.x.id}" }', "Dynamic value in static context"],
    [
      'module "a" { source = "./${module.b.x}" }\nmodule "b" { source = "./m" }',
      "Module output not supported in static context",
    ],
    ['module "a" { source = provider::x::y("m") }', "Provider function in static context"],
    ['module "a" { source = var.nope }', "Reference to undeclared name"],
    ['module "a" { source = [var.dir] }', "Unsuitable value type"],
    ['module "a" {\n  source  = "./m"\n  version = var.dir\n}', "Invalid version constraint"],
    ['provider "x" {\n  alias = "a"\n  for_each = [1]\n}', "Invalid for_each argument"],
    ['provider "x" {\n  alias = "a"\n  for_each = toset([var.unset])\n}', "Value not known early"],
    [
      'provider "x" {\n  alias = "a"\n  for_each = { a = terraform_data.x.id }\n}',
      "Dynamic value in static context",
    ],
  ])("%j is refused: %j", async (text, summary) => {
    const base = `variable "unset" {}
variable "dir" { default = "m" }
variable "secret" { sensitive = true }
locals {
  unset = var.unset
  late  = terraform_data.x.output
}
resource "terraform_data" "x" {}
`;
    const early = given({
      unset: Value.unknown(Value.string("").type),
      dir: Value.string("m"),
      secret: Value.string("m").mark(Mark.sensitive),
    });
    const tree = await load({ "base.tf": base, "main.tf": text }, early);
    expect(tree.problems.map((one) => one.replace(/^\S+ /, ""))).toEqual([summary]);
  });

  it("names the variable that has no value", async () => {
    const { diagnostics } = await load({
      "main.tf": 'variable "dir" {}\nlocals { x = var.dir }\nmodule "a" { source = local.x }',
    });
    expect(diagnostics.map(({ detail }) => detail)).toEqual([
      'The value is needed for the source of module "a" before anything is planned, and it is not known then: var.dir has no value yet. Give one with -var, a variables file, or TF_VAR_NAME.',
    ]);
  });

  it("gives backends their arguments, and providers their instances", async () => {
    const { root, problems } = await load(
      {
        "main.tf": `variable "dir" {}
variable "pw" { sensitive = true }
terraform {
  backend "s3" {
    bucket = "states-\${var.dir}"
    key    = "\${terraform.workspace}.tfstate"
  }
}
provider "x" {
  alias    = "by"
  for_each = { a = var.pw, b = 1 }
}
`,
      },
      given({ dir: Value.string("m"), pw: Value.string("pw").mark(Mark.sensitive) }),
    );
    expect(problems).toEqual([]);
    const { backend, providers } = root.config;
    expect(Object.fromEntries(backend?.place ?? [])).toEqual({
      bucket: "states-m",
      key: "stg.tfstate",
    });
    expect(backend && backendArguments(backend).values).toEqual({
      bucket: "states-m",
      key: "stg.tfstate",
    });
    expect([...(providers.get("x.by")?.instances?.keys() ?? [])]).toEqual(["a", "b"]);
  });
});
