import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const MAIN = `variable "name" {
  type    = string
  default = "x"
  validation {
    condition     = length(var.name) < 5
    error_message = "too long"
  }
}
resource "terraform_data" "a" {
  input = var.name
}
output "name" {
  value = terraform_data.a.output
}
`;

const RUNS = `variables {
  name = "file"
}
run "one" {
  assert {
    condition     = output.name == "file"
    error_message = "wrong"
  }
}
run "two" {
  command = plan
  variables {
    name = run.one.name
  }
  assert {
    condition     = terraform_data.a.input == "nope"
    error_message = "no: \${terraform_data.a.input}"
  }
}
run "long" {
  command         = plan
  expect_failures = [var.name]
  variables {
    name = "toolongname"
  }
}
run "unmet" {
  command         = plan
  expect_failures = [var.name]
}
run "skipped" {}
`;

describe("test", () => {
  let cwd: string;
  const run = async (
    files: Readonly<Record<string, string>>,
    ...words: string[]
  ): Promise<CommandResult> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(cwd, name)), { recursive: true });
      await writeFile(join(cwd, name), text);
    }
    return tryCommand(["test", ...words], { cwd, env: { HOME: cwd } });
  };

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-test-"));
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("passes, fails, expects failures, and skips after an error", async () => {
    const { code, output, error } = await run({ "main.tf": MAIN, "tests/m.tftest.hcl": RUNS });
    expect(output).toBe(`tests/m.tftest.hcl... in progress
  run "one"... pass
  run "two"... fail
  run "long"... pass
  run "unmet"... fail
  run "skipped"... skip
tests/m.tftest.hcl... tearing down
tests/m.tftest.hcl... fail

Failure! 2 passed, 2 failed, 1 skipped.
`);
    expect(error).toContain("no: file");
    expect(error).toContain("Missing expected failure");
    expect(code).toBe(1);
  });

  it("writes lines of JSON and a JUnit report", async () => {
    const files = { "main.tf": MAIN, "tests/m.tftest.hcl": RUNS };
    const { code, output } = await run(files, "-json", "-junit-xml=out.xml");
    expect(code).toBe(1);
    const lines = output.trim().split("\n");
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events[1]).toMatchObject({
      type: "test_abstract",
      test_abstract: { "tests/m.tftest.hcl": ["one", "two", "long", "unmet", "skipped"] },
    });
    expect(events.filter(({ type }) => type === "diagnostic")).toMatchObject([
      { "@testrun": "two", diagnostic: { summary: "Test assertion failed" } },
      { "@testrun": "unmet", diagnostic: { summary: "Missing expected failure" } },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "test_summary",
      test_summary: { status: "error", passed: 2, failed: 1, errored: 1, skipped: 1 },
    });
    const report = await readFile(join(cwd, "out.xml"), "utf8");
    expect(report).toContain(
      '<testsuite name="tests/m.tftest.hcl" tests="5" skipped="1" failures="1" errors="1">',
    );
    expect(report).toContain('<failure message="1 of 1 assertions failed: no: file"><![CDATA[');
  });

  it("refuses a value of a file that is made of another one of it", async () => {
    const text =
      'variables {\n  name  = var.other\n  other = "y"\n}\nrun "one" {\n  command = plan\n}\n';
    const { code, error } = await run({ "main.tf": MAIN, "one.tftest.hcl": text });
    expect(code).toBe(1);
    expect(error).toContain("one.tftest.hcl line 2");
    expect(error).toContain("var.other");
    expect(error).not.toContain("known only after apply");
  });

  it("replaces what a mock decides", async () => {
    const mocked = `mock_provider "terraform" {
  mock_resource "terraform_data" {
    defaults = { id = "fixed" }
  }
}
run "mocked" {
  assert {
    condition     = terraform_data.a.id == "fixed" && terraform_data.a.input == "x"
    error_message = "\${terraform_data.a.id}"
  }
}
run "planned" {
  command = plan
  state_key = "other"
  override_resource {
    target          = terraform_data.a
    override_during = plan
    values          = { id = "planned" }
  }
  assert {
    condition     = terraform_data.a.id == "planned"
    error_message = "not overridden"
  }
}
`;
    const { code, output } = await run({ "main.tf": MAIN, "mock.tftest.hcl": mocked });
    expect(output).toContain("Success! 2 passed, 0 failed.");
    expect(code).toBe(0);
  });

  it("replaces the instances alone that an override names, whatever the order", async () => {
    const { code, output } = await run({
      "main.tf": `module "m" {
  source   = "./m"
  for_each = toset(["a", "b", "c"])
}
resource "terraform_data" "r" {
  count = 3
  input = "real"
}
output "found" {
  value = jsonencode([{ for key, m in module.m : key => m.out }, terraform_data.r[*].output])
}
`,
      "m/main.tf": `resource "terraform_data" "x" {
  for_each = toset([local.word])
  input    = each.key
}
locals {
  word = "real"
}
check "word" {
  assert {
    condition     = local.word == "real"
    error_message = "no"
  }
}
output "out" {
  value = terraform_data.x["real"].output
}
`,
      "keys.tftest.hcl": `override_module {
  target  = module.m["a"]
  outputs = { out = "fake a" }
}
override_resource {
  target = terraform_data.r[1]
  values = { output = "fake 1" }
}
override_resource {
  target = module.m["b"].terraform_data.x
  values = { output = "fake b" }
}
run "some" {
  assert {
    condition     = jsonencode(jsondecode(output.found)) == jsonencode([{ a = "fake a", b = "fake b", c = "real" }, ["real", "fake 1", "real"]])
    error_message = output.found
  }
}
run "others_too" {
  state_key = "other"
  override_module {
    target  = module.m
    outputs = { out = "fake" }
  }
  override_resource {
    target = terraform_data.r
    values = { output = "fake" }
  }
  assert {
    condition     = jsonencode(jsondecode(output.found)) == jsonencode([{ a = "fake a", b = "fake", c = "fake" }, ["fake", "fake 1", "fake"]])
    error_message = output.found
  }
}
`,
    });
    expect(output).toContain("Success! 2 passed, 0 failed.");
    expect(code).toBe(0);
  });

  it("executes files of OpenTofu, which hide those of the same name", async () => {
    const { code, output } = await run({
      "main.tf": MAIN,
      "a.tofutest.hcl": 'run "tofu" {}\n',
      "a.tftest.hcl": 'run "hidden" {}\n',
      "b.tofutest.json": '{"run":{"json":{}}}',
    });
    expect(output).toContain('run "tofu"... pass');
    expect(output).toContain('run "json"... pass');
    expect(output).toContain("Success! 2 passed, 0 failed.");
    expect(code).toBe(0);
  });

  it("executes the example of the documentation", async () => {
    const folder = join(import.meta.dirname, "../../../../examples/testing");
    const page = await readFile(join(import.meta.dirname, "../../docs/testing.md"), "utf8");
    const files: Record<string, string> = {};
    for (const name of ["main.tf", "tests/site.tftest.hcl"]) {
      files[name] = await readFile(join(folder, name), "utf8");
      expect(page).toContain(files[name]);
    }
    const { code, output } = await run(files);
    expect(page).toContain(`$ stackwright test\n${output}`);
    expect(code).toBe(0);
  });

  it("shows no secret that an attribute or an output repeats without a mark", async () => {
    const secret = "canary-5128";
    const main = `variable "secret" {
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.secret
}
output "repeated" {
  value = terraform_data.a.output
}
resource "terraform_data" "b" {
  input = "seen"
}
`;
    const asserted = (name: string): string => `run "${name}" {
  assert {
    condition     = terraform_data.a.output == "other"
    error_message = "it is \${terraform_data.a.output}, \${terraform_data.b.output}"
  }
}
run "after_${name}" {
  variables {
    secret = "another-word"
  }
  assert {
    condition     = terraform_data.a.output == run.${name}.repeated
    error_message = "it was \${run.${name}.repeated}"
  }
}
`;
    const files = { "main.tf": main, "a.tftest.hcl": asserted("one") };
    const more = ["-verbose", `-var=secret=${secret}`, "-junit-xml=out.xml"];
    const text = await run(files, ...more);
    const json = await run(files, "-json", ...more);
    const report = await readFile(join(cwd, "out.xml"), "utf8");
    for (const shown of [text.output + text.error, json.output, report]) {
      expect(shown).toContain("it is (sensitive value), seen");
      expect(shown).toContain("it was (sensitive value)");
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain("another-word");
    }
  });

  it("executes the provisioners of the module under test", async () => {
    const main = `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo made >> log" }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroyed >> log"
  }
}
`;
    const runs = `run "one" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no id"
  }
}
`;
    const { output, error } = await run({ "main.tf": main, "a.tftest.hcl": runs });
    expect(output, error).toContain("Success! 1 passed, 0 failed.");
    expect(await readFile(join(cwd, "log"), "utf8")).toBe("made\ndestroyed\n");
  });

  it("refuses a folder of tests outside of the configuration", async () => {
    const { code, error } = await run({ "main.tf": MAIN }, "-test-directory=../tests");
    expect(error).toContain("Invalid testing directory");
    expect(code).toBe(1);
  });
});
