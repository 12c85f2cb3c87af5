import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";
import { splitArguments } from "./split-arguments.ts";

it.each([
  [`-var 'a=1 2' -no-color`, ["-var", "a=1 2", "-no-color"]],
  [`"-var=a=\\"x\\"" b\\ c`, [`-var=a="x"`, "b c"]],
  [`  -a=''  ""`, ["-a=", ""]],
  ["$HOME `id`", ["$HOME", "`id`"]],
])("splits %j", (text, words) => {
  expect(splitArguments(text)).toEqual(words);
});

it.each([`"a`, "'", "a\\", "-a; b", "a | b", "a > b"])("does not split %j", (text) => {
  expect(() => splitArguments(text)).toThrow(expect.objectContaining({ name: "SplitError" }));
});

async function folderWith(text: string): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-words-"));
  onTestFinished(() => scratch.remove());
  await writeFile(join(scratch.path, "main.tf"), text);
  return scratch.path;
}

describe("arguments in the environment", () => {
  const MAIN = `variable "v" {}\nresource "terraform_data" "a" {\n  input = var.v\n}\noutput "v" {\n  value = var.v\n}\n`;

  it("count for their command alone, and what is typed wins", async () => {
    const cwd = await folderWith(MAIN);
    const env = {
      TF_CLI_ARGS_plan: "-detailed-exitcode -var v=plan",
      TF_CLI_ARGS_apply: "-auto-approve -var v=apply",
      TF_CLI_ARGS_output: "-raw",
    };
    const run = async (...words: string[]) => tryCommand(words, { cwd, env });
    expect(await run("plan")).toMatchObject({ code: 2 });
    expect(await run("apply")).toMatchObject({ code: 0 });
    expect((await run("output", "v")).output).toBe("apply");
    expect(await run("up", "-var", "v=typed")).toMatchObject({ code: 0 });
    expect((await run("output", "v")).output).toBe("typed");
  });

  it("make a destroy plan when they say so", async () => {
    const cwd = await folderWith(MAIN);
    await tryCommand(["up", "-y", "-var", "v=1"], { cwd });
    const env = { TF_CLI_ARGS: "-no-color", TF_CLI_ARGS_plan: "-destroy -var 'v=2 3'" };
    const { code, output } = await tryCommand(["-chdir=.", "plan"], { cwd, env });
    expect(code).toBe(0);
    expect(output).toMatch(/destroy/i);
  });

  it("reach commands of two words, and are refused where they cannot be read", async () => {
    const cwd = await folderWith(MAIN);
    await tryCommand(["up", "-y", "-var", "v=1"], { cwd });
    const listed = await tryCommand(["state", "list"], {
      cwd,
      env: { TF_CLI_ARGS_state_list: "terraform_data.a", TF_CLI_ARGS_state: "-nope" },
    });
    expect(listed).toMatchObject({ code: 0, output: "terraform_data.a\n" });
    const unknown = await tryCommand(["version"], { cwd, env: { TF_CLI_ARGS: "-nope" } });
    expect(unknown).toMatchObject({ code: 1 });
    const quote = await tryCommand(["version"], { cwd, env: { TF_CLI_ARGS_version: '"x' } });
    expect(quote.code).toBe(1);
    expect(quote.error).toContain("TF_CLI_ARGS_version");
  });
});

describe("words without a command", () => {
  it.each(["-version", "--version", "-v"])("%s is the command version", async (word) => {
    const plain = await tryCommand(["version"]);
    expect(await tryCommand([word])).toEqual(plain);
    const json = await tryCommand(["version", "-json"]);
    expect(await tryCommand([word, "-json"])).toEqual(json);
  });

  it("none at all gives the help, and the exit code of a command that does not exist", async () => {
    const { code, output } = await tryCommand([]);
    expect(code).toBe(127);
    expect(output).toContain("Usage: stackwright");
    expect(await tryCommand(["--help"])).toMatchObject({ code: 0, output });
  });

  it.each([
    ["nope"],
    ["nope", "--help"],
    ["nope", "-help"],
    ["-h", "nope"],
    ["plna", "--version"],
    ["help", "nope"],
    ["state", "nope", "--help"],
    ["state", "nope"],
  ])("%s %s is an error", async (...words) => {
    const { code, output } = await tryCommand(words);
    expect({ code, output }).toEqual({ code: 1, output: "" });
  });

  it("suggests the command that was meant", async () => {
    expect((await tryCommand(["plna", "--help"])).error).toContain("plan");
  });

  it("leaves the help of commands that exist", async () => {
    for (const words of [
      ["plan", "--help"],
      ["state", "--help"],
      ["help", "plan"],
    ]) {
      expect(await tryCommand(words)).toMatchObject({ code: 0 });
    }
  });
});
