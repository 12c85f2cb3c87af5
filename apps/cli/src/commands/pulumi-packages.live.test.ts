import { mkdir, mkdtempDisposable, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/*
 * Components, methods and parameterized packages of real Pulumi providers, of the SDKs for Go and for Node, in one stack with a
 * provider of Terraform.
 */

const LAB = process.env.TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";
const RANDOM = process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "";
const GARDEN = fileURLToPath(
  new URL("./testing/programs/garden-provider.ts", import.meta.resolve("@stackwright/mux")),
);

const main = (titles: string) => `
  terraform {
    required_providers {
      lab    = { source = "stackwright.local/pulumi/lab" }
      garden = { source = "stackwright.local/pulumi/garden" }
      herbs  = { source = "example.com/acme/herbs" }
      random = { source = "hashicorp/random" }
    }
  }
  variable "directory" { type = string }
  provider "lab" { directory = "\${var.directory}/notes" }
  provider "herbs" { directory = "\${var.directory}/ledger" }
  resource "random_pet" "name" { length = 1 }
  resource "lab_binder" "b" {
    titles = ${titles}
    text   = "about \${random_pet.name.id}"
    secret = sensitive("hunter2-secret")
  }
  resource "garden_bed" "b" {
    kinds = ["rose", random_pet.name.id]
  }
  data "garden_bed_describe" "d" {
    self     = garden_bed.b
    greeting = "see"
  }
  resource "ledger_note" "n" {
    provider = herbs
    title    = "herbs"
    text     = data.garden_bed_describe.d.text
  }
  resource "mint_plant" "p" {
    provider = herbs
    kind     = "mint"
  }
  output "files" { value = length(lab_binder.b.files) }
  output "text" { value = ledger_note.n.text }
  output "label" { value = mint_plant.p.label }
`;

const PROVIDERS = {
  providers: {
    "example.com/acme/herbs": {
      programs: [
        { source: "stackwright.local/pulumi/lab", name: "ledger", parameters: ["ledger", "2.1.0"] },
        {
          source: "stackwright.local/pulumi/garden",
          name: "mint",
          parameters: {
            name: "mint",
            version: "0.3.0",
            value: Buffer.from("planted").toString("base64"),
          },
        },
      ],
    },
  },
};

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "pulumi-packages-"));
  const at = (...parts: string[]): string => join(scratch.path, ...parts);
  const install = async (name: string) => {
    const folder = at("home", "plugins", `resource-${name}-v1.0.0`);
    await mkdir(folder, { recursive: true });
    return join(folder, `pulumi-resource-${name}`);
  };
  await symlink(LAB, await install("lab"));
  const script = `#!/bin/sh\nGARDEN="${at("garden")}" exec "${process.execPath}" "${GARDEN}" "$@"\n`;
  await writeFile(await install("garden"), script, { mode: 0o755 });
  await mkdir(at("work"));
  await writeFile(at("work", "stackwright.providers.json"), JSON.stringify(PROVIDERS));
  const overrides = `dev_overrides { "hashicorp/random" = ${JSON.stringify(dirname(RANDOM))} }`;
  await writeFile(at("rc"), `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  const env = {
    PATH: process.env.PATH,
    HOME: scratch.path,
    PULUMI_HOME: at("home"),
    TF_CLI_CONFIG_FILE: at("rc"),
    TF_VAR_directory: scratch.path,
  };
  return {
    scratch,
    at,
    write: async (titles: string) => writeFile(at("work", "main.tf"), main(titles)),
    run: async (words: readonly string[]) => tryCommand(words, { cwd: at("work"), env }),
    files: async (folder: string) => (await readdir(at(folder)).catch(() => [])).length,
    [Symbol.asyncDispose]: () => scratch.remove(),
  };
}

describe("packages of Pulumi in the command", { timeout: 240_000 }, () => {
  it("make components, call methods and take parameters, beside a provider of Terraform", async (ctx) => {
    ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
    ctx.skip(RANDOM === "", "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set");
    await using tried = await setUp();
    await tried.write('["one", "two"]');
    const made = await tried.run(["up", "--yes"]);
    expect(made.code, made.error + made.output).toBe(0);
    expect(made.error + made.output).not.toContain("hunter2");
    expect([await tried.files("notes"), await tried.files("ledger")]).toEqual([2, 1]);
    expect(await tried.files("garden")).toBe(3);
    const outputs = JSON.parse((await tried.run(["output", "--json"])).output);
    expect(outputs.files.value).toBe(2);
    expect(outputs.text.value).toMatch(/^see rose of garden, \w+ of garden$/);
    expect(outputs.label.value).toBe("mint of mint");
    const still = await tried.run(["plan", "-detailed-exitcode"]);
    expect(still.code, still.error + still.output).toBe(0);

    await tried.write('["two", "three", "four"]');
    const changed = await tried.run(["up", "--yes"]);
    expect(changed.code, changed.error + changed.output).toBe(0);
    expect(await tried.files("notes")).toBe(3);

    const gone = await tried.run(["destroy", "--yes"]);
    expect(gone.code, gone.error + gone.output).toBe(0);
    expect(await Promise.all(["notes", "ledger", "garden"].map(tried.files))).toEqual([0, 0, 0]);
  });
});
