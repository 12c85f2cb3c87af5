/** A configuration with test files, and what is said to the command. */
export interface Suite {
  readonly files: Readonly<Record<string, string>>;
  /** Options of `test`. */
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The gate provider is installed. */
  readonly gate?: true;
}

const MAIN = `variable "name" {
  type    = string
  default = "x"
  validation {
    condition     = length(var.name) < 8
    error_message = "too long"
  }
}
resource "terraform_data" "a" {
  input = var.name
  lifecycle {
    postcondition {
      condition     = self.output != "bad"
      error_message = "bad thing"
    }
  }
}
check "named" {
  assert {
    condition     = var.name != "chk"
    error_message = "check failed"
  }
}
output "name" {
  value = terraform_data.a.output
  precondition {
    condition     = var.name != "out"
    error_message = "output failed"
  }
}
output "id" {
  value = terraform_data.a.id
}
`;

const assertion = (condition: string): string =>
  `assert {\n    condition     = ${condition}\n    error_message = "no"\n  }`;

const run = (name: string, ...lines: readonly string[]): string =>
  `run "${name}" {\n${lines.map((line) => `  ${line}\n`).join("")}}\n`;

const variables = (text: string): string => `variables {\n    ${text}\n  }`;

const GATE = `terraform {
  required_providers {
    gate = { source = "example.com/e2e/gate" }
  }
}
`;

const GATED = `${GATE}provider "gate" { root = "./site" }
resource "gate_file" "f" {
  path    = "f.txt"
  content = "text"
}
output "size" { value = gate_file.f.size }
`;

/** A module with an object, and one that is called by the root module. */
const CHILD = `variable "v" { default = "d" }
resource "terraform_data" "in" { input = var.v }
output "v" { value = terraform_data.in.output }
`;

export const SUITES: Readonly<Record<string, Suite>> = {
  "one run that passes": {
    files: { "main.tf": MAIN, "a.tftest.hcl": run("one", assertion('output.name == "x"')) },
  },
  "a failing assertion does not end the file": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", assertion('output.name == "no"')) +
        run("two", assertion('terraform_data.a.input == "x"')),
    },
  },
  "several assertions of a run": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        assertion('output.name == "x"'),
        assertion('output.name == "y"'),
        assertion('var.name == "z"'),
      ),
    },
  },
  "an error skips the rest of its file, not the next file": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", variables('name = "bad"')) + run("two", assertion('output.name == "x"')),
      "b.tftest.hcl": run("one", assertion('output.name == "x"')),
    },
  },
  "an invalid expression in an assertion": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", assertion("terraform_data.missing.id == var.name")) +
        run("two", assertion('output.name == "x"')),
    },
  },
  "an output that does not exist": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", assertion('output.missing == "x"')) + run("two"),
    },
  },
  "an unknown value in an assertion of a plan": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", "command = plan", assertion('output.id == "x"')) + run("two"),
    },
  },
  "an expected failure of a variable": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        "command = plan",
        variables('name = "much too long"'),
        "expect_failures = [var.name]",
      ),
    },
  },
  "an expected failure of an output": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        "command = plan",
        variables('name = "out"'),
        "expect_failures = [output.name]",
      ),
    },
  },
  "an expected failure of a check": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", variables('name = "chk"'), "expect_failures = [check.named]") +
        run(
          "two",
          "command = plan",
          variables('name = "chk"'),
          "expect_failures = [check.named]",
          assertion('var.name == "chk"'),
        ),
    },
  },
  "a check that fails without being expected": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", variables('name = "chk"')) + run("two"),
      "b.tftest.hcl": run("one", "command = plan", variables('name = "chk"')) + run("two"),
    },
  },
  "an expected failure of a resource": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", variables('name = "bad"'), "expect_failures = [terraform_data.a]"),
    },
  },
  "an expected failure that does not come": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", "expect_failures = [var.name]") + run("two"),
    },
  },
  "an expected failure in the plan of an apply": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", variables('name = "much too long"'), "expect_failures = [var.name]") +
        run("two"),
    },
  },
  "an expected failure beside another one": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        "command = plan",
        variables('name = "chk"'),
        "expect_failures = [check.named, output.name]",
      ),
    },
  },
  "outputs of earlier runs": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", variables('name = "first"')) +
        run(
          "two",
          variables('name = "2${run.one.name}"'),
          assertion('output.name == "2first" && run.one.id == output.id'),
        ),
    },
  },
  "an output of a run that does not exist": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", variables("name = run.nope.name")) + run("two"),
    },
  },
  "outputs of a plan": {
    files: {
      "main.tf": 'variable "v" { default = 1 }\noutput "v" { value = var.v }\n',
      "a.tftest.hcl":
        run("one", "command = plan", variables("v = 7")) +
        run("two", assertion("run.one.v == 7 && output.v == 1")),
    },
  },
  "values from everywhere": {
    files: {
      "main.tf": ["env", "root", "auto", "arg", "dir", "dirauto", "file", "run"]
        .map((name) => `variable "${name}" { default = "default" }\n`)
        .join(""),
      "terraform.tfvars":
        'root = "root"\nauto = "root"\narg = "root"\ndir = "root"\nfile = "root"\n',
      "x.auto.tfvars": 'auto = "auto"\n',
      "tests/terraform.tfvars": 'dir = "dir"\ndirauto = "dir"\nfile = "dir"\n',
      "tests/x.auto.tfvars": 'dirauto = "dirauto"\n',
      "tests/a.tftest.hcl": `variables {
  file = "file"
  run  = "file"
}
${run(
  "one",
  variables('run = "run"'),
  assertion('var.env == "env"'),
  assertion('var.root == "root"'),
  assertion('var.auto == "auto"'),
  assertion('var.arg == "arg"'),
  assertion('var.dir == "dir"'),
  assertion('var.dirauto == "dirauto"'),
  assertion('var.file == "file"'),
  assertion('var.run == "run"'),
)}`,
    },
    words: ["-var", "arg=arg"],
    env: { TF_VAR_env: "env", TF_VAR_root: "env" },
  },
  "an argument beside files of values": {
    files: {
      "main.tf": 'variable "a" {}\nvariable "b" {}\nvariable "c" {}\n',
      "tests/terraform.tfvars": 'a = "dir"\n',
      "tests/a.tftest.hcl": `variables { b = "file" }\n${run(
        "one",
        assertion('var.a == "arg"'),
        assertion('var.b == "arg"'),
        assertion('var.c == "arg"'),
      )}`,
    },
    words: ["-var", "a=arg", "-var=b=arg", "-var", "c=arg"],
  },
  "a required variable without a value": {
    files: {
      "main.tf": 'variable "v" { type = string }\n',
      "a.tftest.hcl": run("one") + run("two", variables('v = "x"')),
    },
  },
  "a variable that the module does not declare": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": `variables { other = "o" }\n${run(
        "one",
        variables('nope = "x"'),
        assertion('var.other == "o" && output.name == "x"'),
      )}`,
    },
  },
  "variables of the file that use others": {
    files: {
      "main.tf": MAIN,
      "terraform.tfvars": 'name = "root"\n',
      "a.tftest.hcl":
        run("one", variables('name = "${var.name}2"'), assertion('output.name == "root2"')) +
        run("two", variables('name = upper("a")'), assertion('output.name == "A"')),
    },
  },
  "plan options": {
    files: {
      "main.tf": `${MAIN}resource "terraform_data" "b" { input = var.name }\n`,
      "a.tftest.hcl":
        run(
          "target",
          "plan_options {\n    target = [terraform_data.a]\n  }",
          assertion('terraform_data.a.output == "x"'),
        ) +
        run("rest", assertion('terraform_data.b.output == "x"')) +
        run("refresh", "command = plan", "plan_options {\n    mode = refresh-only\n  }") +
        run(
          "replace",
          "plan_options {\n    replace = [terraform_data.a]\n    refresh = false\n  }",
          assertion("output.id != run.target.id"),
        ),
    },
  },
  "a mock provider": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": `mock_provider "terraform" {
  mock_resource "terraform_data" {
    defaults = { id = "fixed" }
  }
}
${run("one", assertion('output.id == "fixed" && terraform_data.a.input == "x"'))}${run(
  "two",
  "command = plan",
  'state_key = "other"',
  assertion('output.id == "fixed"'),
)}`,
    },
  },
  "a mock provider with generated values": {
    gate: true,
    files: {
      "main.tf": GATED,
      "a.tftest.hcl": `mock_provider "gate" {}
${run("one", assertion('output.size == 0 && gate_file.f.path == "f.txt"'))}`,
      "b.tftest.hcl": `mock_provider "gate" {
  alias = "fake"
  mock_resource "gate_file" { defaults = { size = 9 } }
}
${run("one", "providers = { gate = gate.fake }", assertion("output.size == 9"))}`,
    },
  },
  "a mock with files": {
    gate: true,
    files: {
      "main.tf": GATED,
      "tests/mocks/a.tfmock.hcl": `mock_resource "gate_file" { defaults = { size = 3 } }\n`,
      "tests/a.tftest.hcl": `mock_provider "gate" { source = "./tests/mocks" }
${run("one", assertion("output.size == 3"))}`,
    },
  },
  "a mock that makes values for plans": {
    gate: true,
    files: {
      "main.tf": GATED,
      "a.tftest.hcl": `mock_provider "gate" {
  override_during = plan
  mock_resource "gate_file" { defaults = { size = 4 } }
}
${run("one", "command = plan", assertion("output.size == 4"))}${run(
  "two",
  assertion("output.size == 4"),
)}`,
    },
  },
  "overrides of file, run and mock": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": `mock_provider "terraform" {
  override_resource {
    target = terraform_data.a
    values = { id = "mock" }
  }
}
${run("mock", 'state_key = "1"', assertion('output.id == "mock"'))}${run(
  "run",
  'state_key = "2"',
  'override_resource {\n    target = terraform_data.a\n    values = { id = "run" }\n  }',
  assertion('output.id == "run"'),
)}${run(
  "kept",
  'state_key = "2"',
  'override_resource {\n    target = terraform_data.a\n    values = { id = "later" }\n  }',
  assertion('output.id == "later"'),
)}`,
      "b.tftest.hcl": `mock_provider "terraform" {}
override_resource {
  target          = terraform_data.a
  override_during = plan
  values          = { id = "file" }
}
${run("file", "command = plan", assertion('output.id == "file"'))}${run(
  "run",
  'override_resource {\n    target = terraform_data.a\n    values = { id = "run" }\n  }',
  assertion('output.id == "run"'),
)}`,
    },
  },
  "an override of a data source": {
    files: {
      "main.tf": `data "terraform_remote_state" "r" {
  backend = "local"
  config  = { path = "none.tfstate" }
}
output "v" { value = data.terraform_remote_state.r.outputs.v }
`,
      "a.tftest.hcl": `override_data {
  target = data.terraform_remote_state.r
  values = { outputs = { v = 5 } }
}
${run("one", "command = plan", assertion("output.v == 5"))}`,
    },
  },
  "an override of a module": {
    files: {
      "main.tf": 'module "m" { source = "./m" }\noutput "v" { value = module.m.v }\n',
      "m/main.tf": CHILD,
      "a.tftest.hcl": `override_module {
  target  = module.m
  outputs = { v = "over" }
}
${run("one", assertion('output.v == "over"'))}`,
      "b.tftest.hcl": run("one", assertion('output.v == "d" && module.m.v == "d"')),
    },
  },
  "an override of an object in a module": {
    files: {
      "main.tf":
        'module "m" {\n  source = "./m"\n  count = 2\n}\noutput "v" { value = module.m[*].v }\n',
      "m/main.tf": CHILD.replace("in.output", "in.id"),
      "a.tftest.hcl": run(
        "one",
        'override_resource {\n    target = module.m[0].terraform_data.in\n    values = { id = "over" }\n  }',
        assertion('output.v[0] == "over" && output.v[1] != "over"'),
      ),
    },
  },
  "an override with the wrong kind of target": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": `override_data {
  target = terraform_data.a
}
${run("one")}`,
    },
  },
  "a module of a run": {
    files: {
      "main.tf": MAIN,
      "tests/setup/main.tf": CHILD,
      "tests/a.tftest.hcl":
        run("setup", 'module {\n    source = "./tests/setup"\n  }', variables('v = "made"')) +
        run("use", variables("name = run.setup.v"), assertion('output.name == "made"')) +
        run(
          "again",
          'module {\n    source = "./tests/setup"\n  }',
          variables('v = "made"'),
          assertion("terraform_data.in.output == var.v"),
        ),
    },
  },
  "a module that fails": {
    files: {
      "main.tf": MAIN,
      "tests/setup/main.tf": `${CHILD}resource "terraform_data" "no" {
  lifecycle {
    precondition {
      condition     = var.v != "d"
      error_message = "refused"
    }
  }
}
`,
      "tests/a.tftest.hcl":
        run("setup", 'module {\n    source = "./tests/setup"\n  }') + run("skipped"),
    },
  },
  "state keys": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", 'state_key = "a"') +
        run("two", 'state_key = "b"', assertion("output.id != run.one.id")) +
        run("three", 'state_key = "a"', assertion("output.id == run.one.id")),
    },
  },
  "only plans": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("one", "command = plan", assertion('terraform_data.a.input == "x"')) +
        run("two", "command = plan", assertion('terraform_data.a.input == "y"')),
    },
  },
  "a provider of the test file": {
    gate: true,
    files: {
      "main.tf": `${GATE}resource "gate_file" "f" { path = "f.txt" }\noutput "size" { value = gate_file.f.size }\n`,
      "a.tftest.hcl": `variables { site = "./elsewhere" }
provider "gate" {
  root = var.site
}
${run("one", assertion("output.size == 0"))}`,
    },
  },
  "an error of a provider": {
    gate: true,
    files: {
      "main.tf": GATED.replace('content = "text"', 'fails = "on request"'),
      "a.tftest.hcl": run("one") + run("two"),
    },
  },
  "a filter": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", assertion('output.name == "no"')),
      "tests/b.tftest.hcl": run("two"),
    },
    words: ["-filter=tests/b.tftest.hcl"],
  },
  "a filter that no file has": {
    files: { "main.tf": MAIN, "tests/b.tftest.hcl": run("two") },
    words: ["-filter=b.tftest.hcl"],
  },
  "another folder of tests": {
    files: { "main.tf": MAIN, "tests/b.tftest.hcl": run("no"), "checks/c.tftest.hcl": run("two") },
    words: ["-test-directory=checks"],
  },
  "no test files": { files: { "main.tf": MAIN } },
  "a file without runs": { files: { "main.tf": MAIN, "a.tftest.hcl": "" } },
  "a test file with mistakes": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("one", "nonsense = 1"),
      "b.tftest.hcl": run("one"),
    },
  },
  "two runs with one name": {
    files: { "main.tf": MAIN, "a.tftest.hcl": run("one") + run("one") },
  },
  "a test file in JSON": {
    files: {
      "main.tf": MAIN,
      "a.tftest.json": JSON.stringify({
        variables: { name: "json" },
        run: {
          one: {
            assert: { condition: '${output.name == "json"}', error_message: "no" },
          },
          two: {
            command: "plan",
            expect_failures: ["var.name"],
            variables: { name: "far too long" },
          },
        },
      }),
    },
  },
  "a configuration with mistakes": {
    files: { "main.tf": 'output "v" { value = var.missing }\n', "a.tftest.hcl": run("one") },
  },
  "functions of the language in a message": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        'assert {\n    condition = length(output.name) == 2\n    error_message = "got ${jsonencode({ n = output.name })}"\n  }',
      ),
    },
  },
  "resources over a map": {
    files: {
      "main.tf": `variable "sizes" { type = map(number) }
resource "terraform_data" "a" {
  for_each = var.sizes
  input    = each.value
}
output "all" { value = { for key, one in terraform_data.a : key => one.output } }
`,
      "a.tftest.hcl":
        run(
          "first",
          "variables { sizes = { a = 1, b = 2 } }",
          assertion('output.all == { a = 1, b = 2 } && terraform_data.a["b"].output == 2'),
        ) +
        run(
          "fewer",
          "variables { sizes = { b = 3 } }",
          assertion("length(terraform_data.a) == 1 && output.all.b == 3"),
        ),
    },
  },
  "an instance that is not there": {
    files: {
      "main.tf": 'resource "terraform_data" "a" { count = 1 }\n',
      "a.tftest.hcl":
        run("one", assertion("terraform_data.a[1].id != null")) +
        run("two", assertion("length(terraform_data.a) == 1")),
    },
  },
  "a module inside of the configuration": {
    files: {
      "main.tf": 'module "m" {\n  source = "./m"\n}\noutput "id" { value = module.m.id }\n',
      "m/main.tf":
        'resource "terraform_data" "a" {}\noutput "id" { value = terraform_data.a.id }\n',
      "a.tftest.hcl": run("one", assertion("module.m.id == output.id && length(output.id) > 0")),
    },
  },
  "values of a run in the next one": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl":
        run("first", 'variables { name = "one" }') +
        run(
          "second",
          'variables { name = "${run.first.name}-2" }',
          assertion('output.name == "one-2" && output.id == run.first.id'),
        ),
    },
  },
  "a run that is read before it": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run("first", assertion('run.second.name == "x"')) + run("second"),
    },
  },
  "several assertions of which two fail": {
    files: {
      "main.tf": MAIN,
      "a.tftest.hcl": run(
        "one",
        assertion('output.name == "x"'),
        assertion('output.name == "y"'),
        assertion('output.name == "z"'),
      ),
    },
  },
  "sensitive values in a condition": {
    files: {
      "main.tf": `variable "word" {
  type      = string
  sensitive = true
}
output "word" {
  value     = "\${var.word}!"
  sensitive = true
}
`,
      "a.tftest.hcl":
        'variables { word = "canary" }\n' +
        run("one", assertion('output.word == "canary!"')) +
        run("two", assertion('output.word == "other"')),
    },
  },
  "a precondition that fails while planning": {
    files: {
      "main.tf": `variable "n" { type = number }
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = var.n > 1
      error_message = "too small"
    }
  }
}
`,
      "a.tftest.hcl":
        run("fails", "command = plan", "variables { n = 1 }") +
        run("is_skipped", "variables { n = 2 }"),
      "b.tftest.hcl": run(
        "expected",
        "command = plan",
        "variables { n = 1 }",
        "expect_failures = [terraform_data.a]",
      ),
    },
  },
  "a plan that destroys nothing and one that replaces": {
    files: {
      "main.tf": `variable "trigger" { type = string }
resource "terraform_data" "a" { triggers_replace = var.trigger }
output "id" { value = terraform_data.a.id }
`,
      "a.tftest.hcl":
        run("first", 'variables { trigger = "a" }') +
        run("same", 'variables { trigger = "a" }', assertion("output.id == run.first.id")) +
        run("other", 'variables { trigger = "b" }', assertion("output.id != run.first.id")),
    },
  },
  "locals of the module in a condition": {
    files: {
      "main.tf": 'locals {\n  word = upper("a")\n}\noutput "word" { value = local.word }\n',
      "a.tftest.hcl": run("one", assertion('local.word == "A" && local.word == output.word')),
    },
  },
  "a variable without a value": {
    files: {
      "main.tf": 'variable "needed" { type = string }\noutput "a" { value = var.needed }\n',
      "a.tftest.hcl": run("one") + run("two", 'variables { needed = "x" }'),
    },
  },
};
