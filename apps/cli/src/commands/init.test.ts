import { expect, it } from "vitest";
import { folderWith } from "../testing/adoption-folder.ts";

const CHILD = 'variable "needed" {}\noutput "o" {\n  value = var.other\n}\n';

it.each([
  ["an undeclared variable", 'output "o" {\n  value = var.none\n}\n'],
  ["an undeclared resource", 'output "o" {\n  value = terraform_data.none.id\n}\n'],
  ["an invalid reference", 'output "o" {\n  value = path.none\n}\n'],
  ["a cycle", "locals {\n  a = local.b\n  b = local.a\n}\n"],
  ["a missing argument of a module", 'module "m" {\n  source = "./m"\n}\n'],
  ["an argument that a module has not", 'module "m" {\n  source = "./m"\n  none   = 1\n}\n'],
  [
    "a provider configuration that does not exist",
    'resource "terraform_data" "a" {\n  provider = terraform.none\n}\n',
  ],
  [
    "a moved object that still exists",
    'moved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\nresource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n',
  ],
])("is left to plan: %s", async (_what, text) => {
  const { run } = await folderWith({ "main.tf": text, "m/main.tf": CHILD });
  const init = await run(["init"]);
  expect(init).toMatchObject({ code: 0, error: "" });
  expect(init.output).not.toContain("Error");
  expect((await run(["plan"])).code).toBe(1);
});

it.each([
  ["a file that cannot be parsed", 'output "o" {\n'],
  ["an unknown type of block", 'blub "o" {}\n'],
  ["an argument that a block has not", 'output "o" {\n  valu = 1\n}\n'],
  ["two declarations", 'output "o" {\n  value = 1\n}\noutput "o" {\n  value = 1\n}\n'],
  ["a module that does not exist", 'module "m" {\n  source = "./none"\n}\n'],
  [
    "a configuration that a module needs and is not given",
    'module "m" {\n  source = "./needs"\n}\n',
  ],
])("fails init: %s", async (_what, text) => {
  const needs =
    'terraform {\n  required_providers {\n    t = {\n      source                = "terraform.io/builtin/terraform"\n      configuration_aliases = [t.a]\n    }\n  }\n}\n';
  const { run } = await folderWith({ "main.tf": text, "needs/main.tf": needs });
  const { code, output, error } = await run(["init"]);
  expect(code).toBe(1);
  expect(output + error).toContain("Error");
});
