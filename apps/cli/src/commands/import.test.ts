import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const TWO = `
resource "terraform_data" "a" { input = "kept" }
resource "terraform_data" "b" {}
`;

describe("import", () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd });
  const write = async (text: string) => writeFile(join(cwd, "main.tf"), text);
  const recorded = async (address: string) => (await run("state", "show", address)).output;

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-import-"));
    await write(TWO);
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("shows all that is imported, and warns of nothing that was not requested", async () => {
    const { code, output, error } = await run("import", "terraform_data.b", "one", "--yes");
    expect({ code, error }).toEqual({ code: 0, error: "" });
    expect(output).toMatch(/id\s+= "one"/);
    for (const name of ["input", "output", "triggers_replace"]) expect(output).toContain(name);
    expect(output).not.toMatch(/hidden|partial/);
    expect(output).toContain("Apply complete: 1 imported");
    const json = await run("import", "terraform_data.a", "two", "--yes", "--json");
    expect(json.code).toBe(0);
    expect(json.output).not.toContain("targeting");
  });

  it("shows what stays of an object that is updated with its import", async () => {
    const { output } = await run("import", "terraform_data.a", "one", "--yes");
    expect(output).toContain('imported from "one"');
    expect(output).toMatch(/\+ input\s+= "kept"/);
    expect(output).toContain("triggers_replace");
  });

  it("refuses an address where another object is recorded, and names that", async () => {
    await run("import", "terraform_data.b", "one", "--yes");
    const { code, output, error } = await run("import", "terraform_data.b", "two", "--yes");
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(error).toContain('terraform_data.b is recorded already, with the id "one"');
    expect(error).toContain("stackwright state rm 'terraform_data.b'");
    const same = await run("import", "terraform_data.b", "one", "--yes");
    expect(same.code).toBe(1);
    expect(same.error).toContain('recorded already, with this id "one"');
    expect(await recorded("terraform_data.b")).toContain('"one"');
  });

  it("refuses an address that a recorded object moves to", async () => {
    await run("import", "terraform_data.b", "one", "--yes");
    await write(
      'resource "terraform_data" "c" {}\nmoved {\n  from = terraform_data.b\n  to = terraform_data.c\n}\n',
    );
    const { code, error } = await run("import", "terraform_data.c", "two", "--yes");
    expect(code).toBe(1);
    expect(error).toContain('"two" was not imported: another object becomes terraform_data.c.');
    expect(await recorded("terraform_data.b")).toContain('"one"');
  });

  it.each(["one", "two"])("does nothing for a block where one is recorded: %s", async (id) => {
    await run("import", "terraform_data.b", "one", "--yes");
    await write(
      `resource "terraform_data" "b" {}\nimport {\n  to = terraform_data.b\n  id = "${id}"\n}\n`,
    );
    const { code, output } = await run("up", "--yes");
    expect(code).toBe(0);
    expect(output).toContain("No changes.");
    expect(await recorded("terraform_data.b")).toContain('"one"');
  });

  it("reports errors as those of the command line, where no file is", async () => {
    const { code, error } = await run("import", "terraform_data.none", "one", "--yes");
    expect(code).toBe(1);
    expect(error).toContain("Configuration for import target does not exist");
    expect(error).toContain("the import on the command line");
    expect(error).not.toContain(".tf");
    const again = 'import {\n  to = terraform_data.b\n  id = "other"\n}\n';
    await write(TWO + again);
    const twice = await run("import", "terraform_data.b", "one", "--yes");
    expect(twice.code).toBe(1);
    expect(twice.error).toContain("command line");
  });

  it("still warns of targets that were given", async () => {
    const { error } = await run("up", "--yes", "--target", "terraform_data.b");
    expect(error).toContain("Resource targeting is in effect");
  });
});
