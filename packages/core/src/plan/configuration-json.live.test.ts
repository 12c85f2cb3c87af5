import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createDirectoryFiles, resolveVariables } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { configurationSchemas } from "../providers/configuration-schemas.ts";
import { installedOrigin } from "../providers/installed-origin.ts";
import { PLANNED_ONLY_PROVISIONERS } from "../testing/planned-only-provisioners.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { planToTerraformJson } from "./terraform-json.ts";

/* The `configuration` part of plans as JSON, beside that of the real command for equal configurations. */

const run = promisify(execFile);
const programs = {
  "example.com/acme/lab": process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "",
  "registry.terraform.io/hashicorp/random": process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "",
  "registry.terraform.io/hashicorp/tls": process.env.TEST_TOOL_TERRAFORM_PROVIDER_TLS ?? "",
};

const HEAD = `
  terraform {
    required_providers {
      lab    = { source = "example.com/acme/lab" }
      random = {
        source  = "hashicorp/random"
        version = ">= 3.0, < 9.0"
      }
      tls    = { source = "hashicorp/tls" }
    }
  }
`;
const CHILD = `
  terraform {
    required_providers {
      lab = { source = "example.com/acme/lab" }
    }
  }
  variable "a" {
    type     = string
    nullable = false
  }
  variable "b" { default = null }
  resource "lab_object" "i" { name = var.a }
  resource "random_password" "i" { length = 3 }
  output "out" { value = lab_object.i.name }
`;

const CASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "variables, outputs and constants": {
    "main.tf": `
      variable "plain" { default = "x" }
      variable "secret" {
        default     = { a = 1, b = [true, null] }
        sensitive   = true
        description = "what it is"
      }
      variable "none" { default = null }
      variable "four" { default = "4" }
      locals { x = [{ y = { "4" = "z" } }] }
      output "one" {
        value       = [1.50, -1, !true, 1 == 1 ? "a" : "b", "lit", null, { k = "v" }]
        description = "constants"
      }
      output "two" {
        value     = [var.plain, local.x[0].y["4"], var.secret.b[0], path.module, terraform.workspace]
        sensitive = true
      }
      output "three" { value = "\${var.plain}-%{ if var.plain == "x" }a%{ else }b%{ endif }" }
      output "four" { value = { for k, v in { a = var.plain } : k => upper("\${v}-\${local.x[0].y[var.four]}") } }
      output "five" { value = max(1, 2) }
      output "six" { value = true ? 1 : var.plain }
      output "seven" { value = "a\${"b"}c" }
      resource "terraform_data" "used" { input = var.plain }
      output "eight" {
        value      = terraform_data.used
        depends_on = [terraform_data.used]
      }
    `,
  },
  provisioners: {
    "main.tf": `
      variable "v" { default = "x" }
      resource "terraform_data" "a" {
        connection { host = "h" }
        provisioner "local-exec" {
          command     = "echo \${var.v} \${self.id}"
          when        = create
          on_failure  = continue
          environment = { A = var.v }
        }
        provisioner "remote-exec" { inline = ["a", "b"] }
        provisioner "local-exec" {
          when    = destroy
          command = "echo bye"
        }
      }
    `,
  },
  "resources, data sources, providers and checks": {
    "main.tf": `${HEAD}
      variable "d" { default = "/nowhere" }
      variable "l" { default = { a = "1" } }
      provider "lab" { directory = var.d }
      provider "lab" {
        alias     = "two"
        directory = "\${var.d}/two"
      }
      resource "random_password" "p" {
        length  = 3 + 4
        keepers = {
          a = var.l["a"]
          b = "k"
        }
        count = 2
      }
      data "lab_objects" "d" { depends_on = [random_password.p] }
      resource "lab_object" "t" {
        provider   = lab.two
        for_each   = var.l
        name       = "n-\${each.key}-\${random_password.p[0].length}"
        fault      = null
        network    = { cidr = "10.0.0.0/8" }
        rules      = [{ port = length(random_password.p[*].length), protocol = "tcp" }]
        depends_on = [random_password.p]
        lifecycle {
          create_before_destroy = true
        }
      }
      resource "tls_self_signed_cert" "c" {
        private_key_pem = "key"
        subject {
          common_name = var.d
        }
        validity_period_hours = 1
        allowed_uses          = ["any_extended"]
        count                 = 0
      }
      ephemeral "random_password" "e" { length = 4 }
      check "c" {
        data "lab_objects" "x" {}
        assert {
          condition     = length(var.d) > 0
          error_message = "n"
        }
      }
    `,
  },
  "modules and what is passed to them": {
    "main.tf": `${HEAD}
      provider "lab" { directory = "/nowhere" }
      provider "lab" {
        alias     = "two"
        directory = "/nowhere"
      }
      locals { z = "q" }
      resource "random_password" "p" { length = 3 }
      module "m" {
        source = "./child"
        count  = 1
        a      = upper(local.z)
        b      = [random_password.p.length, module.k.out, module.k]
        providers = {
          lab = lab.two
        }
      }
      module "k" {
        source     = "./child"
        a          = "const"
        depends_on = [random_password.p]
      }
      module "e" {
        source   = "./child"
        for_each = toset(["x"])
        a        = each.key
      }
      output "o" { value = [module.m[0].out, module.m[*].out, module.e["x"].out, module.k] }
    `,
    "child/main.tf": CHILD,
  },
  "a provider that only a module has": {
    "main.tf": `
      module "m" { source = "./child" }
    `,
    "child/main.tf": `
      terraform {
        required_providers {
          lab = { source = "example.com/acme/lab" }
        }
      }
      provider "lab" { directory = "/nowhere" }
      resource "lab_object" "i" { name = "n" }
      output "e" {
        value     = "v"
        sensitive = true
      }
    `,
  },
};

async function whyNot(): Promise<string | undefined> {
  if (Object.values(programs).includes("")) return "the programs lab, random and tls are not built";
  try {
    const { stdout } = await run("terraform", ["version", "-json"]);
    const { terraform_version: version } = JSON.parse(stdout) as { terraform_version: string };
    return version.startsWith("1.11.")
      ? undefined
      : `terraform ${version} is not the recorded 1.11`;
  } catch {
    return "the command terraform is not installed";
  }
}

async function byCommand(folder: string): Promise<unknown> {
  const config = join(folder, "cli.tfrc");
  const overrides = Object.entries(programs).map(
    ([source, path]) => `"${source}" = "${dirname(path)}"\n`,
  );
  await writeFile(
    config,
    `provider_installation {\n dev_overrides {\n${overrides.join("")}}\n direct {}\n}`,
  );
  const env = { PATH: process.env.PATH, HOME: folder, TF_CLI_CONFIG_FILE: config };
  const terraform = async (...args: string[]) =>
    run("terraform", args, { cwd: folder, env: { ...env, CHECKPOINT_DISABLE: "1" } });
  await terraform("get");
  await terraform("plan", "-out=p");
  const { stdout } = await terraform("show", "-json", "p");
  return (JSON.parse(stdout) as { readonly configuration: unknown }).configuration;
}

async function byEngine(folder: string): Promise<unknown> {
  const providers = new Map(
    Object.entries(programs).map(([source, executable]) => [
      source,
      { version: undefined, executable },
    ]),
  );
  const engine = createEngine({
    origins: [builtinOrigin(), installedOrigin({ providers })],
    provisioners: PLANNED_ONLY_PROVISIONERS,
  });
  const configuration = await loadConfiguration(createDirectoryFiles(folder));
  const { values: variables } = resolveVariables(configuration.root.config.variables, []);
  const { state } = createTestState();
  const { plan, diagnostics } = await engine.plan({ state, configuration, variables });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  if (plan === undefined) throw new Error("there is no plan");
  const schemas = await configurationSchemas(configuration, plan, engine.catalog);
  const text = planToTerraformJson(plan, {
    described: { configuration, schemas },
    secrets: "shown",
  });
  return (JSON.parse(text) as { readonly configuration: unknown }).configuration;
}

describe("the configuration in a plan as JSON", () => {
  it.for(Object.entries(CASES))(
    "has %s as the real command",
    { timeout: 60_000 },
    async ([, files], ctx) => {
      const reason = await whyNot();
      ctx.skip(reason !== undefined, reason ?? "");
      await using scratch = await mkdtempDisposable(join(tmpdir(), "configuration-"));
      const [theirs, ours] = [join(scratch.path, "theirs"), join(scratch.path, "ours")];
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(theirs, name)), { recursive: true });
        await writeFile(join(theirs, name), text);
      }
      await cp(theirs, ours, { recursive: true });
      expect(await byEngine(ours)).toEqual(await byCommand(theirs));
    },
  );
});
