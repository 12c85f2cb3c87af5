import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { COMMAND } from "../testing/cli.ts";

const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const PROVIDER = "registry.terraform.io/hashicorp/aws/5.100.0";

const RC = `
provider_installation {
  filesystem_mirror {
    path    = "${MIRROR}"
    include = ["registry.terraform.io/hashicorp/aws"]
  }
}
`;

const MAIN = `
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}
data "aws_caller_identity" "here" {}
resource "aws_s3_bucket" "a" {
  bucket = "mocked"
}
resource "aws_instance" "a" {
  ami           = "ami-1"
  instance_type = "t3.micro"
  ebs_block_device {
    device_name = "/dev/sdb"
  }
}
output "account" {
  value = data.aws_caller_identity.here.account_id
}
`;

const TESTS = `
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
}
run "makes_values_by_type" {
  assert {
    condition     = length(aws_s3_bucket.a.arn) == 8
    error_message = "a computed string is \${aws_s3_bucket.a.arn}"
  }
  assert {
    condition     = aws_s3_bucket.a.bucket == "mocked" && output.account == "123456789012"
    error_message = "a given value was replaced"
  }
  assert {
    condition     = aws_instance.a.ebs_optimized == false && aws_instance.a.cpu_core_count == 0
    error_message = "a computed boolean or number is not that of its type"
  }
  assert {
    condition     = length(aws_instance.a.vpc_security_group_ids) == 0
    error_message = "a computed collection is not empty"
  }
}
run "keeps_them" {
  assert {
    condition     = aws_s3_bucket.a.arn == "not that"
    error_message = "fails, as it should"
  }
}
`;

interface Line {
  readonly type: string;
  readonly test_run?: { readonly run: string; readonly progress: string; readonly status?: string };
  readonly test_summary?: unknown;
}

it("the real AWS provider is mocked by its schema, without a network", {
  timeout: 600_000,
}, async (ctx) => {
  ctx.skip(!existsSync(join(MIRROR, PROVIDER)), `no mirror at ${MIRROR} has ${PROVIDER}`);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-mocks-"));
  const work = join(scratch.path, "work");
  await mkdir(work);
  await writeFile(join(work, "main.tf"), MAIN);
  await writeFile(join(work, "mocks.tftest.hcl"), TESTS);
  await writeFile(join(scratch.path, "rc"), RC);
  // Whatever it would send goes to a port where nothing listens.
  const nowhere = "http://127.0.0.1:9";
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: scratch.path,
    TF_CLI_CONFIG_FILE: join(scratch.path, "rc"),
    CHECKPOINT_DISABLE: "1",
    HTTPS_PROXY: nowhere,
    HTTP_PROXY: nowhere,
    AWS_EC2_METADATA_DISABLED: "true",
  };
  const run = async ([program = "", ...first]: readonly string[], ...words: readonly string[]) =>
    new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
      const options = { cwd: work, env, timeout: 280_000, maxBuffer: 64 * 1024 * 1024 };
      execFile(program, [...first, ...words], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, output: stdout === "" ? stderr : stdout });
      });
    });
  const facts = async (command: readonly string[]) => {
    const { code, output } = await run(command, "test", "-json");
    const lines = output
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Line);
    const statuses = lines.flatMap(({ type, test_run: one }) =>
      type === "test_run" && one?.progress === "complete" ? [`${one.run}: ${one.status}`] : [],
    );
    const summary = lines.find(({ type }) => type === "test_summary")?.test_summary;
    return { code, statuses, summary, output };
  };
  const init = await run(COMMAND, "init");
  expect(init.code, init.output).toBe(0);
  const { output, ...ours } = await facts(COMMAND);
  expect(ours.statuses, output).toEqual(["makes_values_by_type: pass", "keeps_them: fail"]);
  expect(ours.code).toBe(1);

  const terraform = [process.env["TEST_TERRAFORM"] ?? "terraform"];
  if ((await run(terraform, "version")).code !== 0) return;
  expect((await run(terraform, "init")).code).toBe(0);
  const { output: said, ...theirs } = await facts(terraform);
  expect(ours, said).toEqual(theirs);
});
