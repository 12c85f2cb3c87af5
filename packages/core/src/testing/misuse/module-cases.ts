import { type MisuseCase, object } from "./misuse-case.ts";

/** Takes an ephemeral value and gives it back, beside a plain output. */
const PASSES = `
  variable "v" {
    type      = string
    ephemeral = true
  }
  output "secret" {
    value     = var.v
    ephemeral = true
  }
  output "plain" { value = "plain" }
`;
const call = (body = "", text = "v = var.e"): string =>
  `module "c" {\n  source = "./m"\n  ${text}\n  ${body}\n}\n`;

/** What goes into modules and comes out of them. */
export const MODULE_CASES: readonly MisuseCase[] = [
  { name: "an argument of a module", text: call(), child: PASSES },
  {
    name: "an argument of a module that takes no ephemeral value",
    text: call(),
    child: 'variable "v" {}',
  },
  {
    name: "a part of an argument of a module that takes no ephemeral value",
    text: call("", "v = { a = [var.e] }"),
    child: 'variable "v" { type = any }',
  },
  {
    name: "an output of a module that is not declared ephemeral",
    text: call(),
    child: 'variable "v" { ephemeral = true }\noutput "o" { value = var.v }',
  },
  {
    name: "an unused output of a module, of its own ephemeral resource",
    text: 'module "c" {\n source = "./m"\n}',
    child:
      'terraform {\n required_providers {\n  lab = { source = "example.com/acme/lab" }\n }\n}\nephemeral "lab_lease" "l" { name = "l" }\noutput "o" { value = ephemeral.lab_lease.l.secret }',
  },
  {
    name: "an ephemeral output of a module in a write-only argument",
    text: `${call()}${object("x", "password = module.c.secret")}`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of a module in an argument",
    text: `${call()}${object("x", "payload = module.c.secret")}`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of a module in an output",
    text: `${call()}output "o" { value = module.c.secret }`,
    child: PASSES,
  },
  {
    name: "a plain output beside an ephemeral one",
    text: `${call()}output "o" { value = module.c.plain }`,
    child: PASSES,
  },
  {
    name: "all outputs of a module in an output",
    text: `${call()}output "o" { value = module.c }`,
    child: PASSES,
  },
  {
    name: "all outputs of a module in an argument",
    text: `${call()}${object("x", "payload = module.c")}`,
    child: PASSES,
  },
  {
    name: "the names of all outputs of a module",
    text: `${call()}output "o" { value = keys(module.c) }`,
    child: PASSES,
  },
  {
    name: "an ephemeral output with a plain value",
    text: `${call()}output "o" { value = module.c.secret }`,
    child:
      'variable "v" { ephemeral = true }\noutput "secret" {\n value = "plain"\n ephemeral = true\n}',
  },
  {
    name: "an ephemeral output of one of several instances",
    text: `${call("count = 2")}output "o" { value = module.c[0].secret }`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of all instances",
    text: `${call("count = 2")}output "o" { value = module.c[*].secret }`,
    child: PASSES,
  },
  {
    name: "a plain output of all instances",
    text: `${call("count = 2")}output "o" { value = module.c[*].plain }`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of an instance by key",
    text: `${call('for_each = toset(["a"])')}output "o" { value = module.c["a"].secret }`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of all instances by key",
    text: `${call('for_each = toset(["a"])')}output "o" { value = { for k, c in module.c : k => c.secret } }`,
    child: PASSES,
  },
  {
    name: "the keys of instances",
    text: `${call('for_each = toset(["a"])')}output "o" { value = keys(module.c) }`,
    child: PASSES,
  },
  {
    name: "the number of instances",
    text: `${call("count = 2")}output "o" { value = length(module.c) }`,
    child: PASSES,
  },
  {
    name: "all instances of a module in an output",
    text: `${call("count = 2")}output "o" { value = module.c }`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of a module for the count",
    text: `${call()}${object("x", "count = length(module.c.secret)")}`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of a module for for_each",
    text: `${call()}${object("x", "for_each = toset([module.c.secret])")}`,
    child: PASSES,
  },
  {
    name: "an ephemeral output of a module in another module",
    text: `${call()}module "d" {\n source = "./m"\n v = module.c.secret\n}`,
    child: PASSES,
  },
  { name: "the count of a module", text: call("count = var.n"), child: PASSES },
  { name: "the for_each of a module", text: call("for_each = var.m"), child: PASSES },
  {
    name: "a key in the for_each of a module",
    text: call('for_each = { (var.e) = "v" }'),
    child: PASSES,
  },
  {
    name: "a value in the for_each of a module",
    text: call("for_each = { a = var.e }", "v = each.value"),
    child: PASSES,
  },
  {
    name: "a module that depends on an ephemeral resource",
    text: call("depends_on = [ephemeral.lab_lease.lease]"),
    child: PASSES,
  },
  {
    name: "a default of an ephemeral variable of a module",
    text: 'module "c" {\n source = "./m"\n}\noutput "o" { value = module.c.o }',
    child: 'variable "v" {\n ephemeral = true\n default = "d"\n}\noutput "o" { value = var.v }',
  },
];
