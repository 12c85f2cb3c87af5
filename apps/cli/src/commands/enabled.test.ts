import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const MAIN = `
variable "on" { default = true }
resource "terraform_data" "a" {
  input = "x"
  lifecycle {
    enabled = var.on
  }
}
resource "terraform_data" "b" {
  input = terraform_data.a == null ? "none" : terraform_data.a.output
}
output "a" { value = try(terraform_data.a.output, "disabled") }
`;

describe("enabled", { timeout: 60_000 }, () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd });
  const write = async (text: string): Promise<void> => writeFile(join(cwd, "main.tf"), text);

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-enabled-"));
    await write(MAIN);
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("decides whether the object exists, under an address without a key", async () => {
    const on = await run("up", "--yes");
    expect(on.code, on.output + on.error).toBe(0);
    expect(on.output).toContain('a = "x"');
    expect((await run("state", "list")).output).toBe("terraform_data.a\nterraform_data.b\n");
    const off = await run("up", "--yes", "-var", "on=false");
    expect(off.code, off.output + off.error).toBe(0);
    expect(off.output).toContain("terraform_data.a will be destroyed");
    expect(off.output).toContain('a = "disabled"');
    expect((await run("state", "list")).output).toBe("terraform_data.b\n");
    expect((await run("plan", "-detailed-exitcode", "-var", "on=false")).code).toBe(0);
    expect((await run("destroy", "--yes", "-var", "on=false")).code).toBe(0);
  });

  it("is checked by validate, with the values that are known", async () => {
    expect((await run("validate")).code).toBe(0);
  });

  it.each([
    ["null", "must not be null"],
    ['"maybe"', "must be true or false"],
    ["terraform_data.b.id != null && terraform_data.b.output == 1", "known only after apply"],
    ["sensitive(true)", "sensitive values cannot be used"],
  ])("refuses %s", async (value, expected) => {
    await write(`
resource "terraform_data" "a" {
  lifecycle {
    enabled = ${value}
  }
}
resource "terraform_data" "b" { input = 2 }
`);
    const { code, output, error } = await run("plan");
    expect(code).toBe(1);
    expect((output + error).replaceAll(/\s*│?\s+/g, " ")).toContain(expected);
  });

  it("excludes count, and reports an attribute of what is disabled", async () => {
    await write(
      'resource "terraform_data" "a" {\n  count = 1\n  lifecycle {\n    enabled = true\n  }\n}\n',
    );
    expect((await run("plan")).error).toContain('Invalid combination of "count" and "enabled"');
    await write(
      MAIN.replace('try(terraform_data.a.output, "disabled")', "terraform_data.a.output"),
    );
    const { code, error } = await run("plan", "-var", "on=false");
    expect(code).toBe(1);
    expect(error).toContain("null");
  });
});
