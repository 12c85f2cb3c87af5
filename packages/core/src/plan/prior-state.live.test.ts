import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createDirectoryFiles } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { installedOrigin } from "../providers/installed-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { planToTerraformJson } from "./terraform-json.ts";

/* The `prior_state` part of plans as JSON, beside that of the real command, before and after an apply. */

const run = promisify(execFile);
const lab = process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "";

const HEAD = `
  terraform {
    required_providers {
      lab = { source = "example.com/acme/lab" }
    }
  }
  provider "lab" { directory = "objects" }
`;
const STEPS = [
  `${HEAD}resource "terraform_data" "x" {}`,
  `${HEAD}
    data "lab_objects" "d" {}
    resource "terraform_data" "x" { input = length(data.lab_objects.d.objects) }
    output "read" { value = data.lab_objects.d }
    output "made" { value = terraform_data.x.output }
  `,
  `${HEAD}
    data "lab_objects" "d" { prefix = "p" }
    resource "terraform_data" "x" { input = 5 }
    output "read" { value = data.lab_objects.d }
    output "made" { value = terraform_data.x.output }
    output "new" { value = [terraform_data.x.input] }
  `,
];

async function whyNot(): Promise<string | undefined> {
  if (lab === "") return "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set";
  const found = await run("terraform", ["version"]).catch(() => undefined);
  if (found === undefined) return "the command terraform is not installed";
  return found.stdout.includes("v1.11.") ? undefined : "terraform is not the recorded 1.11";
}

/** Without ids, which are random, and dependencies of objects, which plans here do not have. */
const comparable = (json: string): unknown => {
  const { prior_state: state } = JSON.parse(json, (name, value: unknown) => {
    if (name === "depends_on") return undefined;
    return name === "id" && typeof value === "string" && value.length === 36 ? "an id" : value;
  });
  return state;
};

async function byCommand(folder: string): Promise<readonly unknown[]> {
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
  const states: unknown[] = [];
  for (const text of STEPS) {
    await writeFile(join(folder, "main.tf"), text);
    await terraform("plan", "-out=p");
    states.push(comparable((await terraform("show", "-json", "p")).stdout));
    await terraform("apply", "p");
  }
  return states;
}

async function byEngine(folder: string): Promise<readonly unknown[]> {
  const providers = new Map([["example.com/acme/lab", { version: undefined, executable: lab }]]);
  const engine = createEngine({ origins: [builtinOrigin(), installedOrigin({ providers })] });
  const { state } = createTestState();
  const states: unknown[] = [];
  for (const text of STEPS) {
    await writeFile(
      join(folder, "main.tf"),
      text.replace('"objects"', JSON.stringify(join(folder, "objects"))),
    );
    const configuration = await loadConfiguration(createDirectoryFiles(folder));
    const given = { state, configuration, variables: new Map() };
    const { plan, diagnostics } = await engine.plan(given);
    expect(diagnostics).toEqual([]);
    if (plan === undefined) throw new Error("there is no plan");
    states.push(comparable(planToTerraformJson(plan)));
    expect((await engine.apply({ ...given, plan })).status).toBe("applied");
  }
  return states;
}

it("the prior state of plans is that of the real command", { timeout: 120_000 }, async (ctx) => {
  const reason = await whyNot();
  ctx.skip(reason !== undefined, reason ?? "");
  await using theirs = await mkdtempDisposable(join(tmpdir(), "prior-command-"));
  await using ours = await mkdtempDisposable(join(tmpdir(), "prior-engine-"));
  expect(await byEngine(ours.path)).toEqual(await byCommand(theirs.path));
});
