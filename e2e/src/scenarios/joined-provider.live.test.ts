import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ProviderMirror } from "../differential/provider-mirror.ts";
import { cli } from "../testing/cli.ts";
import { scratchWith } from "../testing/with-terminal.ts";

const TOOLS = ["terraform-provider-random", "terraform-provider-local"];

const MAIN = `
terraform {
  required_providers {
    all = { source = "example.com/acme/all" }
  }
}
resource "random_string" "name" {
  provider = all
  length   = 6
  special  = false
}
resource "local_file" "name" {
  provider = all
  filename = "\${path.module}/name.txt"
  content  = random_string.name.result
}
data "local_file" "name" {
  provider = all
  filename = local_file.name.filename
  depends_on = [local_file.name]
}
output "read" {
  value = data.local_file.name.content == random_string.name.result
}
output "function" {
  value = provider::all::direxists(path.module)
}
`;

const PROVIDERS = {
  providers: {
    "example.com/acme/all": {
      programs: [
        { source: "hashicorp/random" },
        { source: "hashicorp/local", name: "files", version: ">= 2.0" },
      ],
    },
  },
};

it("two real Terraform providers are one, from init to destroy", {
  timeout: 240_000,
}, async (ctx) => {
  const mirror = await ProviderMirror.make(TOOLS);
  onTestFinished(async () => mirror[Symbol.asyncDispose]());
  const reason = mirror.reasonAgainst(TOOLS);
  ctx.skip(reason !== undefined, reason);
  const scratch = await scratchWith({
    "main.tf": MAIN,
    "stackwright.providers.json": JSON.stringify(PROVIDERS),
  });
  const env = { TF_CLI_CONFIG_FILE: mirror.configuration };
  const run = async (...words: string[]) => cli(scratch, words, { env });

  expect(await run("init")).toMatchObject({ code: 0 });
  const lock = await readFile(join(scratch.work, ".terraform.lock.hcl"), "utf8");
  expect(lock).toContain("hashicorp/random");
  expect(lock).not.toContain("acme/all");

  const listed = await run("providers");
  expect(listed.output).toContain("program random: registry.terraform.io/hashicorp/random");
  expect(listed.output).toContain("program files: registry.terraform.io/hashicorp/local >= 2.0");
  const programs = await run("providers", "programs");
  expect(programs).toMatchObject({ code: 0, error: "" });
  for (const line of [
    "resource random_string: random",
    "resource local_file: files",
    "data local_file: files",
    "function direxists: files",
  ]) {
    expect(programs.output).toContain(`  ${line}\n`);
  }
  const schema = JSON.parse((await run("providers", "schema", "-json")).output) as {
    provider_schemas: Record<string, { resource_schemas: object }>;
  };
  expect(
    Object.keys(schema.provider_schemas["example.com/acme/all"]?.resource_schemas ?? {}),
  ).toEqual(expect.arrayContaining(["local_file", "random_string"]));

  expect(await run("validate")).toMatchObject({ code: 0 });
  expect(await run("plan", "-out", "p")).toMatchObject({ code: 0, error: "" });
  expect(await run("apply", "p")).toMatchObject({ code: 0, error: "" });
  const outputs = JSON.parse((await run("output", "-json")).output) as Record<
    string,
    { value: unknown }
  >;
  expect(outputs["read"]?.value).toBe(true);
  expect(outputs["function"]?.value).toBe(true);
  expect(await run("plan", "-detailed-exitcode")).toMatchObject({ code: 0 });

  // One of the two goes to its own program alone.
  expect(await run("state", "rm", "--yes", "random_string.name")).toMatchObject({ code: 0 });
  const name = await readFile(join(scratch.work, "name.txt"), "utf8");
  expect(await run("import", "--yes", "random_string.name", name)).toMatchObject({ code: 0 });

  await scratch.write({
    "stackwright.providers.json": JSON.stringify({
      providers: {
        "example.com/acme/all": {
          programs: [
            ...PROVIDERS.providers["example.com/acme/all"].programs,
            { source: "hashicorp/random", name: "again" },
          ],
        },
      },
    }),
  });
  const refused = await run("plan");
  expect(refused.code).toBe(1);
  expect(refused.error.replaceAll(/\s+/g, " ")).toContain(
    "random_string is implemented by random, again.",
  );
  await scratch.write({ "stackwright.providers.json": JSON.stringify(PROVIDERS) });

  expect(await run("destroy", "--yes")).toMatchObject({ code: 0 });
  await expect(readFile(join(scratch.work, "name.txt"))).rejects.toThrow("ENOENT");
});
