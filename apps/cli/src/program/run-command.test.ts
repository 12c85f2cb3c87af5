import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

describe("the command", () => {
  it("prints its version as JSON", async () => {
    const { code, output } = await tryCommand(["version", "-json"]);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ stackwright_version: expect.stringMatching(/^\d/) });
  });

  it("lists its commands and ends well where help is asked for", async () => {
    const { code, output } = await tryCommand(["--help"]);
    expect(code).toBe(0);
    expect(output).toContain("write files in the canonical style");
  });

  it("suggests the command that was meant", async () => {
    const { code, error } = await tryCommand(["versoin"]);
    expect(code).toBe(1);
    expect(error).toContain("Did you mean version?");
  });

  it("takes the folder before the name of a command", async () => {
    const { code, error } = await tryCommand(["-chdir=/nowhere", "plan"]);
    expect(code).toBe(1);
    expect(error).toContain('There is no folder "/nowhere"');
  });

  it.each([
    ["fmt", "--chdir", "/nowhere"],
    ["state", "list", "-chdir=/nowhere"],
  ])("refuses the folder behind the command: %s %s %s", async (...words) => {
    const { code, error } = await tryCommand(words);
    expect(code).toBe(1);
    expect(error).toContain("The option --chdir stands before the command");
  });

  it.each(["bash", "zsh", "fish"])("writes a completion for %s", async (shell) => {
    const { code, output } = await tryCommand(["completion", shell]);
    expect(code).toBe(0);
    expect(output).toContain("recursive");
  });

  it("completes options in a real bash", async ({ skip }) => {
    const { output } = await tryCommand(["completion", "bash"]);
    const script = `${output}\nCOMP_WORDS=(stackwright fmt --re); COMP_CWORD=2; _stackwright; echo "$COMPREPLY"`;
    const { stdout, error } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
    skip(error !== undefined, "there is no bash here");
    expect(stdout.trim()).toBe("--recursive");
    const below = `${output}\nCOMP_WORDS=(stackwright providers lock --net); COMP_CWORD=3; _stackwright; echo "$COMPREPLY"`;
    expect(spawnSync("bash", ["-c", below], { encoding: "utf8" }).stdout.trim()).toBe(
      "--net-mirror",
    );
  });

  it.each([
    ["plan", "--json"],
    ["up", "-json", "-yes"],
    ["destroy", "-json"],
    ["init", "-json"],
    ["import-state", "none.tfstate", "-json"],
  ])("tells in lines of JSON why %s %s ended", async (...words) => {
    const { code, output, error } = await tryCommand(["-chdir=/nowhere", ...words]);
    const [line = ""] = output.trim().split("\n").slice(-1);
    const { type, diagnostic } = JSON.parse(line) as { type: string; diagnostic: object };
    expect(type).toBe("diagnostic");
    expect(diagnostic).toMatchObject({ severity: "error", summary: expect.stringMatching(/\S/) });
    expect(error).toContain((diagnostic as { summary: string }).summary);
    expect(code).toBe(1);
  });

  it("reports in the result of validate why it ended", async () => {
    const { code, output } = await tryCommand(["-chdir=/nowhere", "validate", "-json"]);
    expect(JSON.parse(output)).toMatchObject({
      valid: false,
      error_count: 1,
      diagnostics: [{ severity: "error", summary: 'There is no folder "/nowhere".' }],
    });
    expect(code).toBe(1);
  });

  it("writes no JSON for those who did not ask for it", async () => {
    const { output } = await tryCommand(["-chdir=/nowhere", "plan"]);
    expect(output).toBe("");
  });
});
