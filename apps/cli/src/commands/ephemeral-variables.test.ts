import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const MAIN = `
variable "lease" {
  ephemeral = true
  default   = "usual"
}
variable "word" {}
resource "terraform_data" "one" { input = "\${var.word} \${ephemeralasnull(var.lease) == null}" }
`;

/** A folder in which plans are saved and applied, each with words of its own. */
async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "ephemeral-variables-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "main.tf"), MAIN);
  const run = async (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    tryCommand(words, { cwd, env: { HOME: cwd, ...env } });
  const plan = async (...words: readonly string[]) => {
    const made = await run(["plan", "-out=p", "-var=word=a", ...words]);
    expect(made).toMatchObject({ code: 0, error: "" });
  };
  return { plan, apply: async (...given: Parameters<typeof run>) => run(given[0], given[1]) };
}

it("a saved plan is not applied with a default in place of the value that it was made with", async () => {
  const { plan, apply } = await start();
  await plan("-var=lease=mine");
  const refused = await apply(["apply", "p"]);
  expect(refused.code).toBe(1);
  expect(refused.error).toContain('The ephemeral variable "lease" needs its value again.');
  expect(refused.error).toContain("TF_VAR_lease");
  expect(await apply(["apply", "p"], { TF_VAR_lease: "mine" })).toMatchObject({
    code: 0,
    error: "",
  });
});

it("a saved plan that was made with a default is not applied with a value", async () => {
  const { plan, apply } = await start();
  await plan();
  const refused = await apply(["apply", "-var=lease=mine", "p"]);
  expect(refused.code).toBe(1);
  expect(refused.error).toContain('The ephemeral variable "lease" has a value now.');
  expect(await apply(["apply", "p"])).toMatchObject({ code: 0, error: "" });
});

it("a value that its variable does not take is named, and nothing is applied", async () => {
  const { plan, apply } = await start();
  await plan("-var=lease=mine");
  const refused = await apply(["apply", "-var=lease=mine", "-var=other=x", "p"]);
  expect(refused.code).toBe(1);
  expect(refused.error + refused.output).toContain('There is no variable "other"');
});
