import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

describe("the account and the project of a command", () => {
  it.each([
    [
      { STACKWRIGHT_ACCOUNT: "stackwright" },
      [],
      /"stackwright" is reserved[\s\S]*STACKWRIGHT_ACCOUNT/,
    ],
    [{ STACKWRIGHT_ACCOUNT: "StackWright" }, [], /"StackWright" is reserved/],
    [{ STACKWRIGHT_ACCOUNT: "*" }, [], /"\*" is not a valid account name/],
    [{ STACKWRIGHT_PROJECT: "~account" }, [], /"~account" is not a valid project name/],
    [{}, ["--project", "a/b"], /"a\/b" is not a valid project name[\s\S]*--project/],
  ])("are refused where they are none: %j %j", async (env, words, expected) => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "names-"));
    onTestFinished(() => scratch.remove());
    await writeFile(join(scratch.path, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const { code, error } = await tryCommand(["up", "--yes", ...words], {
      cwd: scratch.path,
      env,
    });
    expect(code).toBe(1);
    expect(error).toMatch(expected);
  });
});
