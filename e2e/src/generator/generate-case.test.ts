import { expect, it } from "vitest";
import { type GeneratedCase, renderItems } from "./configuration-tree.ts";
import { generateCase } from "./generate-case.ts";

const text = ({ steps }: GeneratedCase): string =>
  steps
    .flatMap(({ files }) => [...files].map(([path, items]) => `# ${path}\n${renderItems(items)}`))
    .join("");

const CASES = Array.from({ length: 100 }, (_, seed) => text(generateCase(seed)));
const WIDE = Array.from({ length: 300 }, (_, seed) => text(generateCase(seed, true)));

it("generates the same case for the same number, and another one for the next", () => {
  expect(generateCase(7)).toEqual(generateCase(7));
  expect(text(generateCase(7))).not.toBe(text(generateCase(8)));
});

it.each([
  "count =",
  "for_each =",
  "lifecycle {",
  "create_before_destroy",
  "replace_triggered_by",
  "precondition {",
  "postcondition {",
  "validation {",
  'check "',
  "moved {",
  "removed {",
  "import {",
  'module "',
  "depends_on",
  "sensitive = true",
  "triggers_replace",
  'resource "random_integer"',
  'resource "null_resource"',
  'resource "time_offset"',
  'resource "time_static"',
  'resource "local_file"',
  'resource "lab_object"',
  'resource "tls_private_key"',
  'source = "../../modules/',
])("has %s in some of a hundred cases", (part) => {
  expect(CASES.filter((one) => one.includes(part)).length).toBeGreaterThan(0);
});

it.each([
  " && true)",
  "(false || ",
  'id = "imported"',
  "id = each.value",
  "removed {\n  from = module.",
  /moved \{\n {2}from = \S+\["[^"]+"\]\n {2}to = \S+\["/,
  "optional(object({",
  "templatefile(",
  "<<-EOT",
  "# more.tf.json",
  "# main_override.tf",
  "ephemeral = true",
  "for_each = toset([var.hidden])",
  'data "terraform_remote_state"',
  'data "null_data_source"',
  'data "local_file"',
  'ephemeral "lab_lease"',
  'ephemeral "random_password"',
  'dynamic "subject" {',
  "provider::time::",
  "provider::local::",
  "provider::lab::join(",
  'alias = "other"',
  /providers = \{ \w+ = \w+\.other/,
  /for_each = \{ "/,
  "ignore_changes = all",
  "prevent_destroy = true",
  /to = \S+_old\n/,
  "provider = random.other",
  "opt = {",
])("has %s in some of three hundred wide cases", (part) => {
  const has = (one: string) => (typeof part === "string" ? one.includes(part) : part.test(one));
  expect(WIDE.filter(has).length).toBeGreaterThan(0);
});

it("says of wide cases that they are others", () => {
  expect(generateCase(7, true).name).toBe("generated-wide-7");
  expect(generateCase(7, true)).toEqual(generateCase(7, true));
});

it("indents what blocks hold, and closes them", () => {
  expect(renderItems([{ open: "a {", items: ["b = 1", { open: "c {", items: [] }] }])).toBe(
    "a {\n  b = 1\n  c {\n  }\n}\n",
  );
});
