import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
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
import type { PlanOptions } from "./plan.ts";
import { planToTerraformJson } from "./terraform-json.ts";

/* All parts of plans as JSON, beside those of the real command, over several plans of the same stack. */

const run = promisify(execFile);
const lab = process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "";

/** One plan of a stack, and whether it is applied. */
interface Step {
  readonly files: Readonly<Record<string, string>>;
  readonly options?: PlanOptions;
  /** @default true */
  readonly applied?: boolean;
}

const HEAD = `
  terraform {
    required_providers {
      lab = { source = "example.com/acme/lab" }
    }
  }
  provider "lab" { directory = "objects" }
`;

const CHAIN = `
  variable "first" { default = "a" }
  resource "terraform_data" "a" { input = var.first }
  resource "terraform_data" "b" {
    input            = { x = terraform_data.a.output, y = [1, 2] }
    triggers_replace = terraform_data.a.id
  }
  locals {
    text  = terraform_data.b.output.x
    whole = terraform_data.b
  }
  resource "terraform_data" "c" {
    count = length(terraform_data.a.input) > 0 ? 2 : 0
    input = "\${local.text}-\${count.index}"
  }
  resource "terraform_data" "plain" {
    count      = length(terraform_data.b.input.y)
    input      = 1
    depends_on = [terraform_data.a]
  }
  resource "terraform_data" "d" {
    for_each = toset(["p", "q"])
    input = {
      e = each.value
      s = terraform_data.c[*].output
      i = terraform_data.c[0].id
      j = terraform_data.b.input.y[0]
      k = terraform_data.b.input.y[1 - 1]
    }
  }
  resource "terraform_data" "other" {
    count = 2
    input = terraform_data.c[count.index].output
    lifecycle {
      replace_triggered_by = [terraform_data.plain[0].id]
      precondition {
        condition     = terraform_data.d["q"].input.e == "q"
        error_message = "no"
      }
    }
  }
  module "m" {
    source = "./m"
    count  = 2
    in     = terraform_data.d["p"].output.e
    number = count.index
  }
  module "k" {
    source     = "./m"
    for_each   = { z = terraform_data.a.input }
    in         = each.value
    number     = 1
    depends_on = [terraform_data.other]
  }
  output "one" { value = module.m[0].out }
  output "all" {
    value     = module.m
    sensitive = true
  }
  output "loop" { value = [for x in module.k : x.out] }
  output "whole" { value = local.whole }
  output "constant" { value = 5 }
  output "nothing" { value = terraform_data.c[0].triggers_replace }
`;
const CHILD = `
  variable "in" {}
  variable "number" {}
  resource "terraform_data" "x" {
    count = var.number + 1
    input = { in = var.in, n = var.number }
  }
  output "out" { value = terraform_data.x[*].output }
  output "first" {
    value      = terraform_data.x[0].id
    depends_on = [terraform_data.x]
  }
  output "null" { value = terraform_data.x[0].triggers_replace }
  output "secret" {
    value     = terraform_data.x[0].input.in
    sensitive = true
  }
`;
const chain = (text: string) => ({ "main.tf": text, "m/main.tf": CHILD });

const CASES: Readonly<Record<string, readonly Step[]>> = {
  "references through modules and locals": [
    { files: chain(CHAIN) },
    { files: chain(CHAIN), applied: false },
    { files: chain(CHAIN), options: { mode: "refresh-only" }, applied: false },
    { files: chain(CHAIN), options: { mode: "destroy" }, applied: false },
    { files: chain(CHAIN), options: { replace: ["terraform_data.b"] }, applied: false },
    { files: chain(CHAIN.replace('default = "a"', 'default = "A"')) },
    { files: chain(CHAIN.replace('toset(["p", "q"])', 'toset(["p", "r", "q"])')), applied: false },
  ],
  "objects of a provider and data sources": [
    {
      files: {
        "main.tf": `${HEAD}
          resource "lab_object" "one" { name = "one" }
          resource "lab_object" "two" { name = "two-\${lab_object.one.name}" }
          data "lab_objects" "all" { depends_on = [lab_object.two] }
          resource "terraform_data" "n" { input = length(data.lab_objects.all.objects) }
          check "c" {
            assert {
              condition     = length(data.lab_objects.all.objects) > 5
              error_message = "few"
            }
          }
        `,
      },
    },
    {
      files: {
        "main.tf": `${HEAD}
          resource "lab_object" "one" { name = "one" }
          resource "lab_object" "two" { name = "two-\${lab_object.one.name}" }
          data "lab_objects" "all" {}
          resource "terraform_data" "n" { input = length(data.lab_objects.all.objects) }
          output "found" { value = data.lab_objects.all.objects }
        `,
      },
    },
  ],
  "moves, removals and imports": [
    {
      files: {
        "main.tf": `
          resource "terraform_data" "a" {}
          resource "terraform_data" "b" {}
          resource "terraform_data" "left" { input = terraform_data.b.id }
          resource "terraform_data" "many" { count = 3 }
        `,
      },
    },
    {
      files: {
        "main.tf": `
          resource "terraform_data" "new" {}
          resource "terraform_data" "b" {
            triggers_replace = 1
            lifecycle { create_before_destroy = true }
          }
          resource "terraform_data" "many" { count = 1 }
          moved {
            from = terraform_data.a
            to   = terraform_data.new
          }
          removed {
            from = terraform_data.left
            lifecycle { destroy = false }
          }
          resource "terraform_data" "imported" { input = "i" }
          import {
            to = terraform_data.imported
            id = "known"
          }
        `,
      },
    },
  ],
};

async function whyNot(): Promise<string | undefined> {
  if (lab === "") return "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set";
  const found = await run("terraform", ["version"]).catch(() => undefined);
  if (found === undefined) return "the command terraform is not installed";
  return found.stdout.includes("v1.11.") ? undefined : "terraform is not the recorded 1.11";
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Without times and ids, which are random, and with the lists that the command does not order ordered. */
function comparable(json: string, mode: PlanOptions["mode"]): unknown {
  const document = JSON.parse(json, (name, value: unknown) => {
    if (name === "timestamp" && typeof value === "string") return "a time";
    return typeof value === "string" && /^(?:[0-9a-f-]{36}|[0-9a-f]{16})$/.test(value)
      ? "an id"
      : value;
  }) as Record<string, unknown>;
  for (const name of ["relevant_attributes", "checks"]) {
    const list = document[name];
    if (Array.isArray(list)) {
      const text = (item: unknown): string => JSON.stringify(item, sortMembers);
      document[name] = list.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
    }
  }
  // The test of the configuration's own form has it.
  const {
    configuration: _configuration,
    checks,
    relevant_attributes: relevant,
    ...rest
  } = document;
  // Conditions and outputs of modules are evaluated in plans that follow the configuration only; by the command in others too.
  return { ...rest, ...(mode === undefined && { checks, relevant }) };
}

async function prepare(folder: string, { files }: Step): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

function wordsOf({ mode, targets = [], replace = [] }: PlanOptions): readonly string[] {
  return [
    ...(mode === "destroy" ? ["-destroy"] : mode === "refresh-only" ? ["-refresh-only"] : []),
    ...targets.map((address) => `-target=${address}`),
    ...replace.map((address) => `-replace=${address}`),
  ];
}

async function byCommand(folder: string, steps: readonly Step[]): Promise<readonly unknown[]> {
  const rc = join(folder, "rc");
  await writeFile(
    rc,
    `provider_installation {\n dev_overrides {\n  "example.com/acme/lab" = "${dirname(lab)}"\n }\n direct {}\n}`,
  );
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    TF_CLI_CONFIG_FILE: rc,
    CHECKPOINT_DISABLE: "1",
  };
  const terraform = async (...words: string[]) => run("terraform", words, { cwd: folder, env });
  const plans: unknown[] = [];
  for (const step of steps) {
    await prepare(folder, step);
    await terraform("get");
    await terraform("plan", "-out=p", ...wordsOf(step.options ?? {}));
    plans.push(comparable((await terraform("show", "-json", "p")).stdout, step.options?.mode));
    if (step.applied !== false) await terraform("apply", "p");
  }
  return plans;
}

async function byEngine(folder: string, steps: readonly Step[]): Promise<readonly unknown[]> {
  const providers = new Map([["example.com/acme/lab", { version: undefined, executable: lab }]]);
  const engine = createEngine({
    origins: [builtinOrigin(), installedOrigin({ providers })],
    provisioners: PLANNED_ONLY_PROVISIONERS,
  });
  const { state } = createTestState();
  const plans: unknown[] = [];
  for (const step of steps) {
    await prepare(folder, step);
    const main = join(folder, "main.tf");
    const text = step.files["main.tf"] ?? "";
    await writeFile(main, text.replace('"objects"', JSON.stringify(join(folder, "objects"))));
    const configuration = await loadConfiguration(createDirectoryFiles(folder));
    const { values: variables } = resolveVariables(configuration.root.config.variables, []);
    const given = { state, configuration, variables };
    const { plan, diagnostics } = await engine.plan({ ...given, options: step.options ?? {} });
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    if (plan === undefined) throw new Error("there is no plan");
    const schemas = await configurationSchemas(configuration, plan, engine.catalog);
    const json = planToTerraformJson(plan, {
      described: { configuration, schemas },
      secrets: "shown",
    });
    plans.push(comparable(json, step.options?.mode));
    if (step.applied === false) continue;
    expect((await engine.apply({ ...given, plan })).status).toBe("applied");
  }
  return plans;
}

describe("a plan as JSON", () => {
  it.for(Object.entries(CASES))(
    "has all parts that it has with the real command: %s",
    { timeout: 120_000 },
    async ([, steps], ctx) => {
      const reason = await whyNot();
      ctx.skip(reason !== undefined, reason ?? "");
      await using theirs = await mkdtempDisposable(join(tmpdir(), "keys-command-"));
      await using ours = await mkdtempDisposable(join(tmpdir(), "keys-engine-"));
      const expected = await byCommand(theirs.path, steps);
      const found = await byEngine(ours.path, steps);
      for (const [at, plan] of found.entries()) {
        expect.soft(plan, `plan ${at + 1}`).toEqual(expected[at]);
      }
    },
  );
});
