import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createDirectoryFiles } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { installedOrigin } from "../providers/installed-origin.ts";

/* `validate` beside the real command: equal kinds of mistakes in equal configurations, with real providers. */

const run = promisify(execFile);
const programs = {
  "example.com/acme/lab": process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "",
  "registry.terraform.io/hashicorp/random": process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "",
};

const HEAD = `
  terraform {
    required_providers {
      lab    = { source = "example.com/acme/lab" }
      random = { source = "hashicorp/random" }
    }
  }
`;
const MODULE = `
  variable "n" {
    type = number
    validation {
      condition     = var.n < 10
      error_message = "large"
    }
  }
  output "x" { value = var.n }
`;
const X = 'resource "lab_object" "x" { name = "x" }\n';
const P = 'resource "random_password" "p" { length = 3 }\n';

/** Mistakes by name, with summaries of ours where those differ from the command's. */
const CASES: readonly (readonly [name: string, text: string, ours?: readonly string[]])[] = [
  ["nothing", P],
  ["a wrong type", 'resource "random_password" "p" { length = "x" }'],
  ["a missing argument", 'resource "random_password" "p" {}'],
  ["an argument that nobody knows", 'resource "random_password" "p" {\n length = 5\n bogus = 2\n}'],
  ["a block that nobody knows", 'resource "random_password" "p" {\n length = 5\n bogus {}\n}'],
  ["a type that nobody has", 'resource "random_none" "p" {}'],
  ["a data source that nobody has", 'data "random_none" "p" {}', ["error Invalid resource type"]],
  ["what a provider refuses", 'resource "random_password" "p" { length = 0 }'],
  ["what a provider refuses to lend", 'ephemeral "random_password" "p" { length = 0 }'],
  ["a mistake in a provider", `provider "lab" {\n directory = "x"\n bogus = 1\n}\n${X}`],
  [
    "a provider without what it needs",
    `provider "lab" {}\n${X}`,
    ["error Missing required argument"],
  ],
  ["a provider with a wrong type", `provider "lab" {\n directory = "x"\n token = [1]\n}\n${X}`],
  // The command leaves out what nobody uses.
  [
    "a mistake in a provider that nobody uses",
    'provider "lab" {}',
    ["error Missing required argument"],
  ],
  [
    "a root variable of the right type",
    `variable "n" { type = number }\nresource "random_password" "p" { length = var.n }`,
  ],
  [
    "a root variable of a wrong type",
    `variable "n" { type = list(string) }\nresource "random_password" "p" { length = var.n }`,
  ],
  ["an attribute that is not there", `${P}output "o" { value = random_password.p.nothing }`],
  ["an attribute of a text", `${P}output "o" { value = random_password.p.result.x }`],
  [
    "attributes of instances",
    `resource "random_password" "p" {\n count = 2\n length = 3\n}\noutput "o" { value = random_password.p[0].nothing }`,
  ],
  [
    "attributes of all instances",
    `resource "random_password" "p" {\n count = 2\n length = 3\n}\noutput "o" { value = random_password.p[*].nothing }`,
    ["error Unsupported attribute"],
  ],
  [
    "an instance that may not be there",
    `resource "random_password" "p" {\n count = 2\n length = 3\n}\noutput "o" { value = random_password.p[7].length }`,
  ],
  [
    "attributes of instances by key",
    `resource "random_password" "p" {\n for_each = toset(["a"])\n length = 3\n}\noutput "o" { value = random_password.p["a"].nothing }`,
  ],
  [
    "a local made of it",
    `${P}locals { x = [random_password.p][0].nothing }\noutput "o" { value = local.x }`,
    ["error Unsupported attribute"],
  ],
  [
    "a condition about it",
    `resource "random_password" "p" {\n length = 3\n lifecycle {\n  postcondition {\n   condition = self.nothing == 2\n   error_message = "s"\n  }\n }\n}`,
    ["error Unsupported attribute"],
  ],
  [
    "a condition that will not hold",
    `${P}resource "random_password" "q" {\n length = 3\n lifecycle {\n  precondition {\n   condition = length([random_password.p]) == 2\n   error_message = "s"\n  }\n }\n}`,
  ],
  [
    "ignored changes of nothing",
    `resource "random_password" "p" {\n length = 3\n lifecycle { ignore_changes = [nothing] }\n}`,
  ],
  [
    "a number of instances that is none",
    'resource "random_password" "p" {\n count = "x"\n length = 3\n}',
    ["error Invalid count argument"],
  ],
  [
    "keys that are none",
    `variable "l" { type = list(string) }\nresource "random_password" "p" {\n for_each = var.l\n length = 3\n}`,
  ],
  [
    "keys that are secret",
    `variable "s" {\n type = string\n sensitive = true\n}\nresource "random_password" "p" {\n for_each = toset([var.s])\n length = 3\n}`,
  ],
  [
    "an index with attributes",
    'resource "random_password" "p" {\n count = 2\n length = count.index.x\n}',
  ],
  [
    "an element of any kind",
    'resource "random_password" "p" {\n for_each = toset(["1"])\n length = each.value.foo\n}',
    [],
  ],
  [
    "an ephemeral value that would be kept",
    `variable "e" { ephemeral = true }\nresource "lab_object" "t" { name = var.e }`,
  ],
  [
    "an ephemeral value that is only written",
    `variable "e" { ephemeral = true }\nresource "lab_object" "t" {\n name = "n"\n password = var.e\n}`,
  ],
  [
    "an ephemeral resource that would be kept",
    `ephemeral "lab_lease" "l" { name = "l" }\nresource "lab_object" "t" { name = ephemeral.lab_lease.l.name }`,
  ],
  ["a secret output", 'variable "s" { sensitive = true }\noutput "x" { value = var.s }'],
  ["a secret attribute in an output", `${P}output "x" { value = random_password.p.result }`],
  ["an ephemeral output", 'variable "e" { ephemeral = true }\noutput "x" { value = var.e }'],
  ["a function with the wrong arguments", 'resource "lab_object" "x" { name = upper(3, 4) }'],
  [
    "a function of a provider",
    'resource "lab_object" "x" { name = provider::lab::join("-", ["a"]) }',
  ],
  [
    "a function that a provider has not",
    'resource "lab_object" "x" { name = provider::lab::nothing("a") }',
    ["error Call to unknown function"],
  ],
  [
    "null where something is needed",
    'resource "lab_object" "y" { name = null }',
    ["error Missing required argument"],
  ],
  ["an argument of a module", 'module "m" {\n source = "./m"\n n = "zz"\n}'],
  ["an argument that a module refuses", 'module "m" {\n source = "./m"\n n = 11\n}'],
  [
    "an output that a module has not",
    'module "m" {\n source = "./m"\n n = 1\n}\noutput "c" { value = module.m.nope }',
    ["error Reference to undeclared name"],
  ],
  [
    "an output that an instance of a module has not",
    'module "m" {\n count = 2\n source = "./m"\n n = 1\n}\noutput "c" { value = module.m[0].nope }',
  ],
  [
    "all outputs that instances of a module have not",
    'module "m" {\n count = 2\n source = "./m"\n n = 1\n}\noutput "c" { value = module.m[*].nope }',
  ],
  [
    "a check about it",
    `${P}check "c" {\n assert {\n  condition = random_password.p.nothing == 1\n  error_message = "s"\n }\n}`,
  ],
];

async function whyNot(): Promise<string | undefined> {
  if (Object.values(programs).includes("")) return "the programs lab and random are not built";
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

/** Severity and summary of each problem, sorted. */
const kindsOf = (found: readonly { readonly severity: string; readonly summary: string }[]) =>
  found.map(({ severity, summary }) => `${severity} ${summary}`).toSorted();

async function byCommand(folder: string): Promise<readonly string[]> {
  const config = join(folder, "cli.tfrc");
  const overrides = Object.entries(programs).map(
    ([source, path]) => `"${source}" = "${dirname(path)}"\n`,
  );
  await writeFile(
    config,
    `provider_installation {\n dev_overrides {\n${overrides.join("")}}\n direct {}\n}`,
  );
  const terraform = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env.PATH, HOME: folder, TF_CLI_CONFIG_FILE: config };
    const done = run("terraform", args, { cwd: folder, env: { ...env, CHECKPOINT_DISABLE: "1" } });
    // It fails where something is wrong, and says it all the same.
    return done.then(
      ({ stdout }) => stdout,
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
  };
  await terraform("get");
  const { diagnostics } = JSON.parse(await terraform("validate", "-json")) as {
    readonly diagnostics: readonly { readonly severity: string; readonly summary: string }[];
  };
  return kindsOf(diagnostics.filter(({ summary }) => !summary.includes("overrides")));
}

async function byEngine(folder: string): Promise<readonly string[]> {
  const providers = new Map(
    Object.entries(programs).map(([source, executable]) => [
      source,
      { version: undefined, executable },
    ]),
  );
  const engine = createEngine({ origins: [builtinOrigin(), installedOrigin({ providers })] });
  const configuration = await loadConfiguration(createDirectoryFiles(folder));
  const { diagnostics, unchecked } = await engine.validate({ configuration });
  expect(unchecked).toEqual([]);
  return kindsOf(diagnostics);
}

describe("validate beside the real command", () => {
  it.for(CASES)("finds %s", { timeout: 60_000 }, async ([, text, ours], ctx) => {
    const reason = await whyNot();
    ctx.skip(reason !== undefined, reason ?? "");
    await using scratch = await mkdtempDisposable(join(tmpdir(), "validate-"));
    await mkdir(join(scratch.path, "m"));
    await writeFile(join(scratch.path, "m", "main.tf"), MODULE);
    await writeFile(join(scratch.path, "main.tf"), `${HEAD}${text}\n`);
    expect(await byEngine(scratch.path)).toEqual(ours ?? (await byCommand(scratch.path)));
  });
});
