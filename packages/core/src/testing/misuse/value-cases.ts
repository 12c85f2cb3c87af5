import { type MisuseCase, object } from "./misuse-case.ts";

/** Locals, outputs, variables, conditions and arguments. */
export const VALUE_CASES: readonly MisuseCase[] = [
  { name: "a local", text: "locals { x = var.e }" },
  { name: "an output", text: 'output "o" { value = var.e }' },
  {
    name: "an ephemeral output of the root module",
    text: 'output "o" {\n value = var.e\n ephemeral = true\n}',
  },
  { name: "an output of a part", text: 'output "o" { value = { a = [var.e] } }' },
  { name: "an output of a length", text: 'output "o" { value = length(var.l) }' },
  { name: "an output of a comparison", text: 'output "o" { value = var.e == "x" }' },
  { name: "an output of can()", text: 'output "o" { value = can(var.e + 1) }' },
  { name: "an output of try()", text: 'output "o" { value = try(var.m.a, "z") }' },
  { name: "an output of a conditional", text: 'output "o" { value = var.b ? "a" : "b" }' },
  { name: "an output of a for expression", text: 'output "o" { value = [for x in var.l : 1] }' },
  { name: "an output of a filter", text: 'output "o" { value = [for x in ["a"] : x if var.b] }' },
  {
    name: "an output through a local",
    text: 'locals { x = var.e }\noutput "o" { value = local.x }',
  },
  { name: "an output of ephemeralasnull()", text: 'output "o" { value = ephemeralasnull(var.e) }' },
  {
    name: "an output of nonsensitive()",
    text: 'output "o" { value = nonsensitive(sensitive(var.e)) }',
  },
  { name: "an output of issensitive()", text: 'output "o" { value = issensitive(var.e) }' },
  { name: "an output of terraform.applying", text: 'output "o" { value = terraform.applying }' },
  {
    name: "an output of an ephemeral resource",
    text: 'output "o" { value = ephemeral.lab_lease.lease.secret }',
  },
  {
    name: "an output of an ephemeral resource as a whole",
    text: 'output "o" { value = ephemeral.lab_lease.lease }',
  },
  {
    name: "an output of an element at an ephemeral index",
    text: 'output "o" { value = ["a", "b"][var.n] }',
  },
  {
    name: "an output of an instance at an ephemeral index",
    text: `${object("x", "count = 1")}output "o" { value = lab_object.x[var.n].name }`,
  },
  {
    name: "the precondition of an output",
    text: 'output "o" {\n value = 1\n precondition {\n  condition = var.b\n  error_message = "no"\n }\n}',
  },
  {
    name: "the message of a precondition that holds",
    text: `output "o" {\n value = 1\n precondition {\n  condition = var.directory != ""\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "the message of a precondition that fails",
    text: `output "o" {\n value = 1\n precondition {\n  condition = var.directory == ""\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "an output that depends on an ephemeral resource",
    text: 'output "o" {\n value = 1\n depends_on = [ephemeral.lab_lease.lease]\n}',
  },
  {
    name: "the validation of another variable",
    text: 'variable "v" {\n default = "x"\n validation {\n  condition = var.v == var.e\n  error_message = "no"\n }\n}',
  },
  {
    name: "the message of a validation that fails",
    text: `variable "v" {\n default = "x"\n validation {\n  condition = var.v == "y"\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "the message of a validation that holds",
    text: `variable "v" {\n default = "x"\n validation {\n  condition = var.v == "x"\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "the assertion of a check",
    text: 'check "c" {\n assert {\n  condition = var.b\n  error_message = "no"\n }\n}',
  },
  {
    name: "the message of an assertion that holds",
    text: `check "c" {\n assert {\n  condition = var.directory != ""\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "the message of an assertion that fails",
    text: `check "c" {\n assert {\n  condition = var.directory == ""\n  error_message = "no \${var.e}"\n }\n}`,
  },
  {
    name: "the data source of a check",
    text: 'check "c" {\n data "lab_objects" "d" { prefix = var.e }\n assert {\n  condition = var.directory != ""\n  error_message = "no"\n }\n}',
  },
  { name: "an argument", text: 'resource "lab_object" "x" { name = var.e }' },
  { name: "an argument made of it", text: `resource "lab_object" "x" { name = "a-\${var.e}" }` },
  { name: "a part of an argument", text: object("x", "tags = { a = var.e }") },
  { name: "a map as an argument", text: object("x", "tags = var.m") },
  { name: "a part of an argument of any type", text: object("x", "payload = { a = [var.e] }") },
  { name: "a part of a nested argument", text: object("x", "network = { cidr = var.e }") },
  { name: "a null argument", text: object("x", "payload = var.b ? null : null") },
  { name: "a write-only argument", text: object("x", "password = var.e\n  password_version = 1") },
  {
    name: "the version beside a write-only argument",
    text: object("x", "password = var.e\n  password_version = var.n"),
  },
  {
    name: "an argument with ephemeralasnull()",
    text: object("x", "payload = ephemeralasnull(var.m)"),
  },
  { name: "the input of terraform_data", text: 'resource "terraform_data" "x" { input = var.e }' },
  {
    name: "the trigger of terraform_data",
    text: 'resource "terraform_data" "x" { triggers_replace = [var.e] }',
  },
  { name: "a data source", text: 'data "lab_objects" "d" { prefix = var.e }' },
  { name: "an ephemeral resource", text: 'ephemeral "lab_lease" "l" { name = var.e }' },
  {
    name: "an ephemeral resource made of another",
    text: 'ephemeral "lab_lease" "l" { name = ephemeral.lab_lease.lease.secret }',
  },
  {
    name: "a configuration of a provider",
    text: 'provider "lab" {\n alias = "other"\n directory = var.directory\n token = var.e\n}\nresource "lab_object" "x" {\n provider = lab.other\n name = "x"\n}',
  },
  {
    name: "a configuration of a provider made of an ephemeral resource",
    text: 'provider "lab" {\n alias = "other"\n directory = var.directory\n token = ephemeral.lab_lease.lease.secret\n}\nresource "lab_object" "x" {\n provider = lab.other\n name = "x"\n}',
  },
  {
    name: "the number of dynamic blocks",
    text: `data "archive_file" "a" {\n type = "zip"\n output_path = "a.zip"\n dynamic "source" {\n  for_each = var.l\n  content {\n   filename = "f"\n   content = "c"\n  }\n }\n}`,
  },
  {
    name: "the content of a dynamic block",
    text: `data "archive_file" "a" {\n type = "zip"\n output_path = "a.zip"\n dynamic "source" {\n  for_each = ["a"]\n  content {\n   filename = "f"\n   content = var.e\n  }\n }\n}`,
  },
  {
    name: "an element of the list of a dynamic block",
    text: `data "archive_file" "a" {\n type = "zip"\n output_path = "a.zip"\n dynamic "source" {\n  for_each = [var.e]\n  content {\n   filename = "f"\n   content = "c"\n  }\n }\n}`,
  },
  {
    name: "an element of the list of a dynamic block in its content",
    text: `data "archive_file" "a" {\n type = "zip"\n output_path = "a.zip"\n dynamic "source" {\n  for_each = [var.e]\n  content {\n   filename = "f"\n   content = source.value\n  }\n }\n}`,
  },
];
