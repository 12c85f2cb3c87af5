import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const RANDOM = `terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}
`;

describe("validate", () => {
  let cwd: string;
  const run = async (text: string, ...words: string[]): Promise<CommandResult> => {
    await writeFile(join(cwd, "main.tf"), text);
    return tryCommand(["validate", ...words], { cwd, env: { HOME: cwd } });
  };

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-validate-"));
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("asks for no values, and checks arguments against schemas", async () => {
    const good = `variable "v" { type = string }
      resource "terraform_data" "a" { input = var.v }
      output "o" { value = terraform_data.a.output }`;
    expect(await run(good)).toEqual({
      code: 0,
      output: "The configuration is valid.\n",
      error: "",
    });
    const bad = await run('resource "terraform_data" "a" {\n  inputs = 1\n}\n');
    expect(bad.code).toBe(1);
    expect(bad.output).toBe("");
    expect(bad.error).toContain("Unsupported argument");
    expect(bad.error).toContain("main.tf line 2");
  });

  it("reports all that one pass can know: arguments, references and functions, each once", async () => {
    const bad = `resource "terraform_data" "a" {
  nonsense = var.nope
}
output "o" {
  value = upper(var.other) + lower([])
}
`;
    for (const words of [["validate"], ["plan"], ["up", "--yes"]]) {
      await writeFile(join(cwd, "main.tf"), bad);
      const { code, error, output } = await tryCommand(words, { cwd, env: { HOME: cwd } });
      expect(code, words.join(" ")).toBe(1);
      const summaries = [...(error + output).matchAll(/Error: (.*)/g)].map(([, text]) => text);
      expect(summaries, words.join(" ")).toEqual([
        "Unsupported argument",
        "Reference to undeclared input variable",
        "Reference to undeclared input variable",
        "Invalid function argument",
      ]);
    }
  });

  it("refuses arms of a condition that have one type only if a plan says so, which a plan does not", async () => {
    const text = `resource "terraform_data" "k" {
  for_each = toset(["b"])
}
output "o" {
  value = terraform_data.k["b"].id == "x" ? [["a"], keys(terraform_data.k)] : [["a", "b"]]
}
`;
    const refused = await run(text);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("Inconsistent conditional result types");
    const planned = await tryCommand(["plan"], { cwd, env: { HOME: cwd } });
    expect(planned.code, planned.error).toBe(0);
    expect(planned.output).toContain("+ o = (known after apply)");
  });

  it("names attributes that are not there", async () => {
    const { code, error } = await run(
      'resource "terraform_data" "a" {}\noutput "o" { value = terraform_data.a.outputs }\n',
    );
    expect(code).toBe(1);
    expect(error).toContain("Unsupported attribute");
  });

  it("says what it could not check, and brings nothing", async () => {
    const text = `${RANDOM}
      resource "random_pet" "a" { bogus = 1 }
      resource "random_pet" "b" { count = 2 }
      provider "random" {}
      resource "terraform_data" "c" { input = random_pet.a.anything }`;
    const { code, output, error } = await run(text);
    expect(code).toBe(0);
    expect(output).toBe(
      "The configuration is valid as far as it was checked, with the warnings above.\n",
    );
    expect(error).toContain("Not checked against a schema");
    expect(error).toContain(
      "The provider registry.terraform.io/hashicorp/random is not installed;",
    );
    expect(error).toContain('"stackwright init" brings it.');
    expect(await readdir(cwd)).toEqual(["main.tf"]);
    for (const block of ["random_pet.a", "random_pet.b"]) expect(error).toContain(`- ${block}`);
  });

  it("reports as JSON, and exits accordingly", async () => {
    const { code, output } = await run('resource "terraform_data" "a" { inputs = 1 }', "--json");
    expect(code).toBe(1);
    expect(JSON.parse(output)).toMatchObject({
      valid: false,
      error_count: 1,
      warning_count: 0,
      diagnostics: [{ severity: "error", summary: "Unsupported argument" }],
    });
    const unchecked = await run(`${RANDOM}resource "random_pet" "a" {}`, "--json");
    expect(unchecked.code).toBe(0);
    expect(JSON.parse(unchecked.output)).toMatchObject({
      valid: true,
      warning_count: 1,
      diagnostics: [{ severity: "warning", summary: "Not checked against a schema" }],
    });
  });
});
