import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

async function fails(file: string, text: string, ...words: string[]) {
  await using folder = await mkdtempDisposable(join(tmpdir(), "problem-place-"));
  await writeFile(join(folder.path, file), text);
  const { code, output, error } = await tryCommand(words, { cwd: folder.path });
  expect(code).toBe(1);
  return output + error;
}

it("names the block of a problem in the configuration", async () => {
  const text = await fails(
    "main.tf",
    'resource "terraform_data" "x" {\n  input = var.gone\n}\nlocals {\n  a = foo.bar\n}\n',
    "validate",
  );
  expect(text).toContain('on main.tf line 2, in resource "terraform_data" "x":');
  expect(text).toContain("on main.tf line 5, in locals:");
});

it("names the path of a problem in a JSON file", async () => {
  const json = '{"resource": {"terraform_data": {"x": {"input": "${var.gone}"}}}}';
  expect(await fails("main.tf.json", json, "plan")).toContain(
    "on main.tf.json line 1, in resource.terraform_data.x:",
  );
});

it("names the block of a missing argument and of what a provider rejects", async () => {
  const missing = await fails("main.tf", 'data "terraform_remote_state" "r" {\n}\n', "validate");
  expect(missing).toContain('on main.tf line 1, in data "terraform_remote_state" "r":');
  const rejected = await fails(
    "main.tf",
    '\ndata "terraform_remote_state" "r" {\n  backend = "local"\n  config  = { path = "gone" }\n}\n',
    "plan",
  );
  expect(rejected).toContain("with data.terraform_remote_state.r,");
  expect(rejected).toContain('on main.tf line 2, in data "terraform_remote_state" "r":');
});

it("gives the block as the context of the snippet in JSON", async () => {
  const text = await fails(
    "main.tf",
    'output "o" {\n  value = var.gone\n}\n',
    "validate",
    "--json",
  );
  const [problem] = JSON.parse(text).diagnostics;
  expect(problem.snippet.context).toBe('output "o"');
});
