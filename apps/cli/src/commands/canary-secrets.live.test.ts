import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { canary, findCanaries, findCanariesInFolder } from "@stackwright/core/testing";
import { expect, it } from "vitest";
import { runSpawned } from "../testing/spawned-command.ts";

// Secrets of every kind that a command meets, with a real provider, and then each byte that it wrote: standard streams, the log of
// TF_LOG, the store, saved plans, plan JSON, graphs, backups.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";

const KINDS = [
  "file",
  "token",
  "attribute",
  "write-only",
  "lease",
  "registry-token",
  "access-token",
  "url",
  "failed",
] as const;

const templateOf = (lab: string, more: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
variable "lab_token" { sensitive = true }
variable "attribute" { sensitive = true }
variable "in_file" { sensitive = true }
variable "url" { sensitive = true }
variable "failed" { sensitive = true }
variable "write_only" {
  sensitive = true
  ephemeral = true
}
variable "lease" { ephemeral = true }
provider "lab" {
  directory = ${JSON.stringify(lab)}
  token     = var.lab_token
}
ephemeral "lab_lease" "one" { name = var.lease }
resource "lab_object" "a" {
  name             = "a"
  network          = { cidr = "10.0.0.0/8", secret = nonsensitive(var.attribute) }
  password         = "\${var.write_only}\${ephemeral.lab_lease.one.secret}"
  password_version = 1
}
resource "lab_object" "b" {
  name    = "b"
  tags    = { repeated = lab_object.a.network.secret, key = var.in_file }
  payload = { address = "https://user:\${var.url}@example.com/?token=\${urlencode(var.url)}" }
}
resource "terraform_data" "c" { input = [base64encode(var.url), jsonencode({ a = var.in_file })] }
${more}
output "b" {
  value     = lab_object.b
  sensitive = true
}
`;

/** Ends with an error that names a secret, after other objects exist. */
const FAILING = `
resource "lab_object" "broken" {
  name  = "broken"
  tags  = { secret = var.failed, other = lab_object.b.id }
  fault = "fail-create"
}
resource "terraform_data" "said" {
  input = lab_object.b.id
  lifecycle {
    postcondition {
      condition     = self.output == "none"
      error_message = "found \${var.failed} in \${lab_object.a.network.secret}"
    }
  }
}
`;
const CRASHING = `
resource "lab_object" "crash" {
  name  = "crash"
  tags  = { secret = var.failed, other = lab_object.b.id }
  fault = "crash-create"
}
`;

it("no byte that a command writes has a secret of a variable, a provider, an ephemeral value or the environment", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "canary-command-"));
  const cwd = join(scratch.path, "work");
  const outside = join(scratch.path, "outside");
  const lab = join(outside, "lab");
  await mkdir(cwd);
  await mkdir(lab, { recursive: true });
  const secrets = Object.fromEntries(KINDS.map((kind) => [kind, canary(kind)])) as Record<
    (typeof KINDS)[number],
    string
  >;
  const canaries = Object.values(secrets);
  const rc = join(outside, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  const variables = join(outside, "secret.tfvars");
  await writeFile(variables, `in_file = ${JSON.stringify(secrets.file)}\n`);

  const found: string[] = [];
  const written = new Map<string, string>();
  const run = async (...words: string[]): Promise<number | null> => {
    const name = words.join(" ");
    const { code, text } = await runSpawned(words, {
      cwd,
      env: {
        TF_CLI_CONFIG_FILE: rc,
        TF_LOG: "trace",
        TF_LOG_PATH: join(cwd, "trace.log"),
        TF_VAR_lab_token: secrets.token,
        TF_VAR_attribute: secrets.attribute,
        TF_VAR_url: secrets.url,
        TF_VAR_failed: secrets.failed,
        TF_VAR_write_only: secrets["write-only"],
        TF_VAR_lease: secrets.lease,
        TF_TOKEN_example_com: secrets["registry-token"],
        STACKWRIGHT_TOKEN: secrets["access-token"],
      },
    });
    written.set(name, text);
    found.push(...findCanaries(name, Buffer.from(text), canaries));
    return code;
  };
  const configure = async (more: string) => writeFile(join(cwd, "main.tf"), templateOf(lab, more));

  await configure("");
  const file = `-var-file=${variables}`;
  expect(await run("plan", file, "--out", "first.plan"), written.get("plan")).not.toBe(1);
  expect(await run("show", "first.plan")).toBe(0);
  expect(await run("show", "--json", "first.plan")).toBe(0);
  expect(await run("up", "first.plan", "--yes"), [...written.values()].at(-1)).toBe(0);
  await configure(FAILING);
  expect(await run("up", file, "--yes", "--json")).toBe(1);
  await configure(CRASHING);
  expect(await run("up", file, "--yes")).toBe(1);
  expect(await run("state", "resolve-absent", "lab_object.crash")).toBe(0);
  for (const words of [
    ["show"],
    ["show", "--json"],
    ["output"],
    ["state", "show", "lab_object.b"],
    ["plan", file, "--destroy", "--json"],
    ["store", "backup", "copy"],
  ]) {
    expect(await run(...words), `${words.join(" ")}: ${[...written.values()].at(-1)}`).not.toBe(1);
  }
  // The secrets arrived: what is not written was not left out either.
  const arrived = await findCanariesInFolder(lab, canaries);
  expect(arrived.found.join("\n")).toContain(secrets["write-only"]);
  expect(arrived.found.join("\n")).toContain(secrets.lease);
  const { files, found: inFiles } = await findCanariesInFolder(cwd, canaries);
  expect(files).toBeGreaterThan(5);
  expect([...found, ...inFiles]).toEqual([]);
});
