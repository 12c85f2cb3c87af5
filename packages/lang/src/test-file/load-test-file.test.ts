import { describe, expect, it } from "vitest";
import { formatAddress } from "../address/address.ts";
import { loadMockFile, loadTestFile } from "./load-test-file.ts";

const summaries = (text: string): readonly string[] =>
  loadTestFile("a.tftest.hcl", text).diagnostics.map(({ summary }) => summary);

describe("loadTestFile", () => {
  it("reads runs with all that they have", () => {
    const { file, diagnostics } = loadTestFile(
      "tests/a.tftest.hcl",
      `variables { a = 1 }
mock_provider "aws" {
  alias  = "fake"
  source = "./mocks"
  mock_resource "aws_vpc" {
    defaults = { id = "x" }
  }
}
run "first" {
  command         = plan
  state_key       = "key"
  expect_failures = [var.a, check.c, aws_vpc.v[0]]
  providers       = { aws = aws.fake }
  plan_options {
    mode   = refresh-only
    target = [module.m.aws_vpc.v["k"]]
  }
  module {
    source  = "ns/net/aws"
    version = "~> 1.0"
  }
  override_module {
    target  = module.m
    outputs = { v = 1 }
  }
}
run "second" { parallel = true }
`,
    );
    expect(diagnostics).toEqual([]);
    expect(file.providers.get("aws.fake")?.mock).toMatchObject({
      source: { path: "./mocks" },
      defaults: [{ mode: "managed", type: "aws_vpc" }],
      duringPlan: false,
    });
    const [first, second] = file.runs;
    expect(first).toMatchObject({
      name: "first",
      command: "plan",
      stateKey: "key",
      options: { mode: "refresh-only", refresh: true, target: ['module.m.aws_vpc.v["k"]'] },
      module: { name: "first", source: "ns/net/aws" },
      parallel: false,
    });
    expect(first?.expectFailures.map(({ address }) => address)).toEqual([
      "var.a",
      "check.c",
      "aws_vpc.v[0]",
    ]);
    expect(first?.overrides.map(({ target }) => formatAddress(target))).toEqual(["module.m"]);
    expect(second).toMatchObject({ command: "apply", parallel: true, stateKey: undefined });
  });

  it.each([
    ['run "1x" {}', "Invalid run block name"],
    ['run "a" {}\nrun "a" {}', 'Duplicate "run" block names'],
    ['run "a" { command = "plan" }', 'Invalid "command" keyword'],
    ['run "a" {\n  variables {}\n  variables {}\n}', 'Multiple "variables" blocks'],
    [
      'run "a" {\n  plan_options {\n    mode = refresh-only\n    refresh = false\n  }\n}',
      "Incompatible plan options",
    ],
    ['run "a" { expect_failures = [local.x.y] }', "Invalid `expect_failures` reference"],
    ['run "a" { expect_failures = [module.m] }', "Invalid `expect_failures` reference"],
    ["override_data { target = aws_vpc.v }", "Invalid override target"],
    ["override_resource { target = module.m }", "Invalid override target"],
    [
      'run "a" {\n  module { source = "git::https://h.test/r.git" }\n}',
      "Invalid module source address",
    ],
    [
      'run "a" {\n  assert {\n    condition = true\n    error_message = "x"\n  }\n}',
      "Invalid assert expression",
    ],
    ['provider "aws" {}\nmock_provider "aws" {}', "Duplicate provider block"],
  ])("%s: %s", (text, summary) => {
    expect(summaries(text)).toEqual([summary]);
  });

  it("reads mock files", () => {
    const text = 'mock_data "aws_ami" { defaults = { id = "x" } }\nrun "no" {}\n';
    const { file, diagnostics } = loadMockFile("a.tfmock.hcl", text);
    expect(file.defaults).toMatchObject([{ mode: "data", type: "aws_ami" }]);
    expect(diagnostics).toHaveLength(1);
  });
});
