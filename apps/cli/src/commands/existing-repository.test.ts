import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runInteractively } from "../testing/interactive-command.ts";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

/** A directory with files, in which the command runs. */
async function folder(files: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "existing-repository-"));
  onTestFinished(() => scratch.remove());
  for (const [name, text] of Object.entries({ ".git/HEAD": "", ...files })) {
    const path = join(scratch.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const run = async (
    words: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<CommandResult> => tryCommand(words, { cwd: scratch.path, env });
  return { path: scratch.path, run };
}

describe("an existing repository", { timeout: 120_000 }, () => {
  it("gets no question under TF_INPUT=0, but an error that names the variable", async () => {
    const { run } = await folder({ "main.tf": 'variable "size" { type = number }\n' });
    const { code, error } = await run(["plan"], { TF_INPUT: "0" });
    expect(code).toBe(1);
    expect(error).toContain("size");
  });

  it("gets no question under TF_INPUT=0 in a terminal either", async () => {
    const { path } = await folder({ "main.tf": 'variable "size" { type = number }\n' });
    const command = runInteractively(["plan"], { cwd: path, env: { TF_INPUT: "0" } });
    expect(await command.ended).toBe(1);
    expect(command.text()).toContain("size");
    expect(command.text()).not.toContain("Enter a value");
  });

  it("is planned by -chdir before the command, which is an error behind it", async () => {
    const { run } = await folder({ "d/main.tf": 'resource "terraform_data" "a" {}\n' });
    const before = await run(["-chdir=d", "plan", "-detailed-exitcode"]);
    expect(before.code).toBe(2);
    const behind = await run(["plan", "-chdir=d"]);
    expect(behind.code).toBe(1);
    expect(behind.error).toContain("stands before the command");
  });

  it("is planned although a child module has a backend block", async () => {
    const { run } = await folder({
      "main.tf": 'module "m" { source = "./m" }\n',
      "m/main.tf": 'terraform {\n  backend "s3" {}\n}\nresource "terraform_data" "a" {}\n',
    });
    const { code, output, error } = await run(["plan", "-detailed-exitcode"]);
    expect(code, error).toBe(2);
    expect(output).toContain("module.m.terraform_data.a");
  });

  it("shows no secret of an adopted state, and stores it encrypted", async () => {
    const canary = "canary-7f1e9c";
    const value = { value: canary, type: "string" };
    const state = {
      version: 4,
      terraform_version: "1.11.4",
      serial: 3,
      lineage: "0e9c1f52-9d5c-4f42-8b7d-0d5b0b0c1d2e",
      outputs: { token: { value: canary, type: "string", sensitive: true } },
      resources: [
        {
          mode: "managed",
          type: "terraform_data",
          name: "a",
          provider: 'provider["terraform.io/builtin/terraform"]',
          instances: [
            {
              schema_version: 0,
              attributes: { id: "one", input: value, output: value, triggers_replace: null },
              sensitive_attributes: [[{ type: "get_attr", value: "input" }]],
            },
          ],
        },
      ],
      check_results: null,
    };
    const { path, run } = await folder({
      "main.tf": `
variable "token" { sensitive = true }
resource "terraform_data" "a" { input = var.token }
output "token" {
  value     = terraform_data.a.input
  sensitive = true
}
`,
      "terraform.tfstate": JSON.stringify(state),
    });
    const env = { TF_VAR_token: canary, TF_LOG: "JSON", TF_LOG_PATH: join(path, "log") };
    const words = [
      ["adopt", "--dry-run", "--json"],
      ["adopt", "--yes"],
      ["plan", "-detailed-exitcode", "-out=p"],
      ["adopt", "--detect"],
      ["show"],
    ];
    for (const each of words) {
      const { code, output, error } = await run(each, env);
      expect(code, output + error).toBe(0);
      expect(output + error).not.toContain(canary);
    }
    const written = await readdir(path, { recursive: true, withFileTypes: true });
    const files = written.filter((one) => one.isFile() && !one.name.includes(".tfstate"));
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name));
      expect(bytes.includes(canary), join(file.parentPath, file.name)).toBe(false);
    }
  });

  it("is tested, and prevent_destroy does not keep what a test has made", async () => {
    const { run, path } = await folder({
      "main.tf": `
resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone > gone"
  }
  lifecycle { prevent_destroy = true }
}
`,
      "tests/a.tftest.hcl": `
run "one" {
  assert {
    condition     = terraform_data.a.input == "x"
    error_message = "no"
  }
}
`,
    });
    const { code, output, error } = await run(["test"]);
    expect(code, output + error).toBe(0);
    expect(await readdir(path)).toContain("gone");
  });
});
