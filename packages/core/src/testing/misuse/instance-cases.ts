import { type MisuseCase, object } from "./misuse-case.ts";

/** count, for_each, what stands in lifecycle blocks, provisioners, and blocks about the state. */
export const INSTANCE_CASES: readonly MisuseCase[] = [
  { name: "the count of a resource", text: object("x", "count = var.n") },
  { name: "a length as the count", text: object("x", "count = length(var.l)") },
  { name: "a condition for the count", text: object("x", "count = var.b ? 1 : 0") },
  {
    name: "terraform.applying for the count",
    text: object("x", "count = terraform.applying ? 1 : 0"),
  },
  { name: "the count of a data source", text: 'data "lab_objects" "d" { count = var.n }' },
  {
    name: "the count of an ephemeral resource",
    text: 'ephemeral "lab_lease" "l" {\n count = var.n\n name = "l"\n}',
  },
  { name: "a map for for_each", text: object("x", "for_each = var.m") },
  { name: "an element of a set for for_each", text: object("x", "for_each = toset([var.e])") },
  { name: "a set for for_each", text: object("x", "for_each = toset(var.l)") },
  { name: "a value in a map for for_each", text: object("x", "for_each = { a = var.e }") },
  {
    name: "a value in a typed map for for_each",
    text: object("x", "for_each = tomap({ a = var.e })"),
  },
  {
    name: "a value in a map for for_each given to a write-only argument",
    text: object("x", "for_each = { a = var.e }\n  password = each.value"),
  },
  {
    name: "a value in a map for for_each given to an argument",
    text: object("x", "for_each = { a = var.e }\n  payload = each.value"),
  },
  { name: "a key in a map for for_each", text: object("x", 'for_each = { (var.e) = "v" }') },
  {
    name: "a key beside others in a map for for_each",
    text: object("x", 'for_each = { a = "v", (var.e) = "v" }'),
  },
  {
    name: "a key of a for expression for for_each",
    text: object("x", 'for_each = { for v in [var.e] : v => "v" }'),
  },
  {
    name: "an element in a for expression for for_each",
    text: object("x", "for_each = { for k, v in { a = var.e } : k => v }"),
  },
  { name: "the for_each of a data source", text: 'data "lab_objects" "d" { for_each = var.m }' },
  {
    name: "the for_each of an ephemeral resource",
    text: 'ephemeral "lab_lease" "l" {\n for_each = toset([var.e])\n name = each.key\n}',
  },
  {
    name: "replace_triggered_by at an ephemeral index",
    text: `${object("x", "count = 1")}${object("y", "lifecycle { replace_triggered_by = [lab_object.x[var.n]] }")}`,
  },
  {
    name: "replace_triggered_by at an ephemeral index, of an attribute",
    text: `${object("x", "count = 1")}${object("y", "lifecycle { replace_triggered_by = [lab_object.x[var.n].size] }")}`,
  },
  {
    name: "replace_triggered_by at an index that is no name",
    text: `locals { i = 0 }\n${object("x", "count = 1")}${object("y", "lifecycle { replace_triggered_by = [lab_object.x[local.i]] }")}`,
  },
  {
    name: "replace_triggered_by at the index of the instance",
    text: `${object("x", "count = 1")}${object("y", "count = 1\n  lifecycle { replace_triggered_by = [lab_object.x[count.index]] }")}`,
  },
  {
    name: "replace_triggered_by at an ephemeral value of the instance",
    text: `${object("x", 'for_each = { x = "v" }')}${object("y", "for_each = { a = var.e }\n  lifecycle { replace_triggered_by = [lab_object.x[each.value]] }")}`,
  },
  {
    name: "replace_triggered_by of a variable",
    text: object("y", "lifecycle { replace_triggered_by = [var.e] }"),
  },
  {
    name: "replace_triggered_by of an ephemeral resource",
    text: object("y", "lifecycle { replace_triggered_by = [ephemeral.lab_lease.lease] }"),
  },
  {
    name: "replace_triggered_by of a data source",
    text: `data "lab_objects" "d" {}\n${object("y", "lifecycle { replace_triggered_by = [data.lab_objects.d] }")}`,
  },
  {
    name: "replace_triggered_by at a written index",
    text: `${object("x", "count = 1")}${object("y", 'lifecycle { replace_triggered_by = [lab_object.x[0].tags["a"]] }')}`,
  },
  {
    name: "replace_triggered_by at a computed index",
    text: `${object("x", "count = 1")}${object("y", "count = 1\n  lifecycle { replace_triggered_by = [lab_object.x[count.index + 0]] }")}`,
  },
  {
    name: "replace_triggered_by in parentheses",
    text: `${object("x")}${object("y", "lifecycle { replace_triggered_by = [(lab_object.x.size)] }")}`,
  },
  {
    name: "replace_triggered_by of two resources in one expression",
    text: `${object("x", "count = 1")}${object("z")}${object("y", "lifecycle { replace_triggered_by = [lab_object.x[lab_object.z.size]] }")}`,
  },
  {
    name: "replace_triggered_by of all instances",
    text: `${object("x", "count = 1")}${object("y", "lifecycle { replace_triggered_by = [lab_object.x[*].size] }")}`,
  },
  {
    name: "replace_triggered_by of a function",
    text: `${object("x", "count = 1")}${object("y", "lifecycle { replace_triggered_by = [length(lab_object.x)] }")}`,
  },
  {
    name: "replace_triggered_by of a template",
    text:
      object("x") + object("y", `lifecycle { replace_triggered_by = ["a-\${lab_object.x.size}"] }`),
  },
  {
    name: "replace_triggered_by of a text",
    text: object("y", 'lifecycle { replace_triggered_by = ["x"] }'),
  },
  {
    name: "replace_triggered_by of a module",
    text: `${object("y", "lifecycle { replace_triggered_by = [module.c.plain] }")}module "c" { source = "./m" }`,
    child: 'output "plain" { value = 1 }',
  },
  {
    name: "replace_triggered_by of the path of the module",
    text: object("y", "lifecycle { replace_triggered_by = [path.module] }"),
  },
  { name: "prevent_destroy", text: object("y", "lifecycle { prevent_destroy = var.b }") },
  {
    name: "create_before_destroy",
    text: object("y", "lifecycle { create_before_destroy = var.b }"),
  },
  {
    name: "the precondition of a resource",
    text: object(
      "y",
      'lifecycle {\n precondition {\n  condition = var.b\n  error_message = "no"\n }\n}',
    ),
  },
  {
    name: "the message of a precondition of a resource that fails",
    text: object(
      "y",
      `lifecycle {\n precondition {\n  condition = var.directory == ""\n  error_message = "no \${var.e}"\n }\n}`,
    ),
  },
  {
    name: "the postcondition of a data source",
    text: 'data "lab_objects" "d" {\n lifecycle {\n  postcondition {\n   condition = var.b\n   error_message = "no"\n  }\n }\n}',
  },
  {
    name: "depends_on of an ephemeral resource",
    text: object("y", "depends_on = [ephemeral.lab_lease.lease]"),
  },
  { name: "depends_on of an ephemeral variable", text: object("y", "depends_on = [var.e]") },
  {
    name: "the command of a provisioner",
    text: `resource "terraform_data" "x" {\n provisioner "local-exec" { command = "echo \${var.e}" }\n}`,
  },
  {
    name: "the environment of a provisioner",
    text: 'resource "terraform_data" "x" {\n provisioner "local-exec" {\n  command = "true"\n  environment = { A = var.e }\n }\n}',
  },
  {
    name: "the connection of a resource",
    text: 'resource "terraform_data" "x" {\n connection {\n  type = "ssh"\n  host = var.e\n }\n}',
  },
  {
    name: "the id of an import",
    text: `import {\n to = terraform_data.x\n id = var.e\n}\nresource "terraform_data" "x" {}`,
  },
  {
    name: "the id of an import from an ephemeral resource",
    text: `import {\n to = terraform_data.x\n id = ephemeral.lab_lease.lease.secret\n}\nresource "terraform_data" "x" {}`,
  },
  {
    name: "the for_each of an import",
    text: `import {\n for_each = var.m\n to = terraform_data.x[each.key]\n id = "i"\n}\nresource "terraform_data" "x" { for_each = { a = "v" } }`,
  },
  {
    name: "a value in the for_each of an import",
    text: `import {\n for_each = { a = var.e }\n to = terraform_data.x[each.key]\n id = each.value\n}\nresource "terraform_data" "x" { for_each = { a = "v" } }`,
  },
  {
    name: "a key in the for_each of an import",
    text: `import {\n for_each = { (var.e) = "i" }\n to = terraform_data.x[each.key]\n id = each.value\n}\nresource "terraform_data" "x" { for_each = { x = "v" } }`,
  },
  {
    name: "the index of the target of an import",
    text: `import {\n to = terraform_data.x[var.n]\n id = "i"\n}\nresource "terraform_data" "x" { count = 1 }`,
  },
  {
    name: "an index in the target of an import with for_each",
    text: `import {\n for_each = { a = "i" }\n to = terraform_data.x[var.e]\n id = each.value\n}\nresource "terraform_data" "x" { for_each = { x = "v" } }`,
  },
  {
    name: "an import of an ephemeral resource",
    text: 'import {\n to = ephemeral.lab_lease.lease\n id = "i"\n}',
  },
  {
    name: "a moved ephemeral resource",
    text: "moved {\n from = ephemeral.lab_lease.old\n to = ephemeral.lab_lease.lease\n}",
  },
  {
    name: "a resource that moved to an ephemeral one",
    text: "moved {\n from = lab_object.old\n to = ephemeral.lab_lease.lease\n}",
  },
  {
    name: "a removed ephemeral resource",
    text: "removed {\n from = ephemeral.lab_lease.old\n lifecycle { destroy = false }\n}",
  },
];
