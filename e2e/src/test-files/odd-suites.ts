import type { Suite } from "./suites.ts";

/* Test files that are odd, wrong or hostile. What the real command makes of them is made of them here. */

const MAIN = `variable "name" {
  type    = string
  default = "x"
}
variable "secret" {
  type      = string
  sensitive = true
  default   = "hidden"
}
variable "items" {
  type    = list(object({ name = string, size = optional(number, 3) }))
  default = []
}
resource "terraform_data" "a" {
  input = var.name
}
resource "terraform_data" "many" {
  for_each = { for one in var.items : one.name => one.size }
  input    = each.value
}
output "name" { value = terraform_data.a.output }
output "sizes" { value = { for key, one in terraform_data.many : key => one.output } }
output "secret" {
  value     = var.secret
  sensitive = true
}
`;

const SETUP = `variable "size" { default = 2 }
resource "terraform_data" "s" {
  count = var.size
  input = "s\${count.index}"
}
output "list" { value = terraform_data.s[*].output }
`;

const assertion = (condition: string, message = '"no"'): string =>
  `  assert {\n    condition     = ${condition}\n    error_message = ${message}\n  }\n`;
const run = (name: string, body = ""): string => `run "${name}" {\n${body}}\n`;
const suite = (test: string, more: Readonly<Record<string, string>> = {}): Suite => ({
  files: { "main.tf": MAIN, "a.tftest.hcl": test, ...more },
});

export const ODD_SUITES: Readonly<Record<string, Suite>> = {
  "an output of a later run": suite(
    run("one", "  variables {\n    name = run.two.name\n  }\n") + run("two"),
  ),
  "an output of the same run": suite(
    run("one", "  variables {\n    name = run.one.name\n  }\n") + run("two"),
  ),
  "variables of the file from a run": suite(
    `variables {\n  name = run.one.name\n}\n${run("one")}${run("two")}`,
  ),
  "conditions of other types": suite(
    run("text", assertion('"true"')) +
      run("number", assertion("1")) +
      run("null", assertion("null")) +
      run("list", assertion("[true]")),
  ),
  "a message that is null": suite(run("one", assertion("var.name == 1", "null")) + run("two")),
  "a message that is a secret": suite(
    run("one", assertion('var.name == "y"', "var.secret")) + run("two"),
  ),
  "messages that are odd": suite(
    run("number", assertion('var.name == "y"', "7")) +
      run("empty", assertion('var.name == "y"', '""')) +
      run("list", assertion('var.name == "y"', "[7]")) +
      run("fails", assertion('var.name == "y"', "var.nothing")),
  ),
  "a secret in a condition": suite(
    run("one", assertion('var.secret == "x"') + assertion('output.secret == "hidden"')),
  ),
  "an assertion without a condition": suite(
    run("one", '  assert {\n    error_message = "no"\n  }\n') + run("two"),
  ),
  "a command that does not exist": suite(run("one", "  command = destroy\n") + run("two")),
  "a command as a text": suite(run("one", '  command = "plan"\n')),
  "a name with a blank in it": suite(run("one two") + run("two")),
  "a name in other letters": suite(run("größe", assertion('var.name == "x"'))),
  "a block of an unknown type": suite(`${run("one")}task "x" {}\n`),
  "line ends of Windows and a mark at the start": suite(
    `\uFEFF${run("one", assertion('output.name == "x"'))}`.replaceAll("\n", "\r\n"),
  ),
  "a file that does not end": suite(`${run("one")}run "two" {\n`),
  "a module that is not there": suite(
    run("one", '  module {\n    source = "./missing"\n  }\n') + run("two"),
  ),
  "elements of outputs of a module": suite(
    run("setup", '  module {\n    source = "./setup"\n  }\n  variables {\n    size = 3\n  }\n') +
      run(
        "use",
        `  variables {\n    name = run.setup.list[2]\n  }\n${assertion('output.name == "s2" && length(run.setup.list) == 3')}`,
      ) +
      run("none", "  variables {\n    name = run.setup.list[3]\n  }\n"),
    { "setup/main.tf": SETUP },
  ),
  "defaults of optional attributes": suite(
    run(
      "one",
      `  variables {\n    items = [{ name = "a" }, { name = "b", size = 5 }]\n  }\n${assertion('output.sizes == { a = 3, b = 5 } || output.sizes["a"] == 3')}`,
    ) + run("wrong", "  variables {\n    items = [{ size = 5 }]\n  }\n"),
  ),
  "a value of a plan that is unknown": suite(
    run("one", "  command = plan\n") +
      run("two", `  variables {\n    name = run.one.name\n  }\n${assertion('output.name != ""')}`),
  ),
  "expected failures of what has no condition": suite(
    run("local", "  expect_failures = [local.x]\n") + run("next"),
  ),
  "an expected failure twice": suite(
    run("one", "  command = plan\n  expect_failures = [var.name, var.name]\n"),
  ),
  "an override of what is not there": suite(
    `override_resource {
  target = terraform_data.nope
  values = { id = "x" }
}
${run("one", assertion('output.name == "x"'))}`,
  ),
  "two overrides of one object": suite(
    `override_resource {
  target = terraform_data.a
}
override_resource {
  target = terraform_data.a
}
${run("one")}`,
  ),
  "a mock provider twice": suite(
    `mock_provider "terraform" {}\nmock_provider "terraform" {}\n${run("one")}`,
  ),
  "an assertion on one instance": suite(
    run(
      "one",
      `  variables {\n    items = [{ name = "a" }]\n  }\n${assertion('terraform_data.many["a"].output == 3')}${assertion('terraform_data.many["b"].output == 3')}`,
    ),
  ),
  "an argument twice": suite(run("one", "  command = plan\n  command = apply\n") + run("two")),
  "variables that are wrong for their type": suite(
    run("one", '  variables {\n    items = "text"\n  }\n') + run("two"),
  ),
  "functions and loops in variables": suite(
    run(
      "one",
      `  variables {\n    items = [for at in range(3) : { name = format("n%d", at), size = at }]\n  }\n${assertion("length(output.sizes) == 3 && sum(values(output.sizes)) == 3")}`,
    ),
  ),
};
