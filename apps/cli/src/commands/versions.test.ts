import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-versions-"));
  onTestFinished(() => scratch.remove());
  for (const [name, text] of Object.entries(files)) await writeFile(join(scratch.path, name), text);
  return scratch.path;
}

it("warns where another version of the language is required, and plans", async () => {
  const cwd = await folder({
    "main.tf": 'terraform {\n  required_version = ">= 1.14"\n}\noutput "o" { value = 1 }\n',
  });
  const { code, output, error } = await tryCommand(["plan"], { cwd });
  expect(code).toBe(0);
  expect(output + error).toContain("Unsupported Terraform Core version");
  expect(output + error).toContain("Warning");
});

it.each([
  ['action "aws_lambda_invoke" "x" {\n}', "Actions are part of Terraform"],
  ["language {\n}", "part of OpenTofu 1.12"],
])("refuses %s by its name", async (text, message) => {
  const cwd = await folder({ "main.tf": `${text}\n` });
  const { code, output, error } = await tryCommand(["plan"], { cwd });
  expect(code).toBe(1);
  expect(output + error).toContain(message);
});

it("plans and applies what a program synthesized as cdk.tf.json", async () => {
  const synthesized = {
    "//": {
      metadata: { backend: "local", stackName: "app", version: "0.20.11" },
      outputs: { app: { out: "out" } },
    },
    terraform: { required_providers: {}, required_version: ">= 1.5" },
    variable: { size: { type: "number", default: 3, description: "how many" } },
    locals: { doubled: "${var.size * 2}" },
    resource: {
      terraform_data: {
        item: {
          "//": { metadata: { path: "app/item", uniqueId: "item" } },
          input: "${local.doubled}",
          lifecycle: { create_before_destroy: true },
        },
      },
    },
    output: { out: { value: "${terraform_data.item.output}" } },
  };
  const cwd = await folder({ "cdk.tf.json": JSON.stringify(synthesized) });
  expect(await tryCommand(["up", "-y"], { cwd })).toMatchObject({ code: 0, error: "" });
  const { output } = await tryCommand(["output", "-json", "out"], { cwd });
  expect(JSON.parse(output)).toBe(6);
});

it("shows the members that wrappers of the reference command read", async () => {
  const lock = `provider "registry.terraform.io/acme/x" {\n  version = "1.2.3"\n}\n`;
  const cwd = await folder({ ".terraform.lock.hcl": lock });
  const { code, output } = await tryCommand(["version", "-json"], { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({
    terraform_version: "1.11.4",
    provider_selections: { "registry.terraform.io/acme/x": "1.2.3" },
    terraform_outdated: false,
  });
  const text = await tryCommand(["version"], { cwd });
  expect(text.output).toContain("+ provider registry.terraform.io/acme/x v1.2.3\n");
});
