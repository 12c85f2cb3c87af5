import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it("instances that are not known are reported, also where something reads them", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "unknown-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await mkdir(join(cwd, "m"));
  await writeFile(join(cwd, "m", "main.tf"), 'output "word" { value = "x" }');
  await writeFile(
    join(cwd, "main.tf"),
    `
resource "terraform_data" "a" { input = ["x"] }
resource "terraform_data" "n" { input = 2 }
resource "terraform_data" "b" {
  for_each = toset(terraform_data.a.output)
}
resource "terraform_data" "c" { input = [for b in terraform_data.b : b.id] }
module "m" {
  source = "./m"
  count  = terraform_data.n.output
}
output "words" { value = module.m[*].word }
`,
  );
  const run = async (...words: string[]) => tryCommand(words, { cwd });
  expect((await run("init")).code).toBe(0);
  const plan = await run("plan");
  expect(plan.code).toBe(1);
  expect(plan.error).toContain("Invalid for_each argument");
  expect(plan.error).toContain("Invalid count argument");
  expect(plan.error).toContain("with the option --staged");
  expect(plan.error).not.toContain("before it had a value");
  // What the error says is so.
  const staged = await run("up", "--staged", "--yes");
  expect([staged.code, staged.error]).toEqual([0, ""]);
});
