import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  configurationSchemas,
  type Plan,
  planToTerraformJson,
  terraformDataFolder,
} from "@stackwright/core";
import {
  type ComparedPlanJson,
  comparePlanJson,
  type PlanDifference,
} from "@stackwright/plan-view";
import { commandEnvironment, DEFAULT_WORKSPACE } from "@stackwright/tfstate/backend";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { CommandEngine } from "../session/open-engine.ts";
import type { Project } from "../session/project.ts";
import { referenceCommand } from "../session/reference-command.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import { runProgram } from "./run-program.ts";

/** How the plan of an installed command differs from ours. */
export interface PlanComparison {
  readonly command: string;
  readonly version: string;
  /** Objects and outputs that were compared. */
  readonly compared: number;
  readonly differences: readonly PlanDifference[];
}

interface CompareRequest {
  /** `terraform`, `tofu`, or a path. */
  readonly command: string;
  readonly workspace: string;
  readonly plan: Plan;
  readonly engine: CommandEngine;
  readonly project: Project;
  /** The text of a version 4 state to plan against. @default that of the backend of the directory */
  readonly state?: string;
}

/**
 * Plans with an installed command too, and compares the two plans in their JSON form. The command reads the state of
 * its backend, without its lock; or one that is given, in a separate directory next to that of the configuration, with
 * links to its files.
 */
export async function comparePlans(
  request: CompareRequest,
  options: PlanningOptions,
  context: CommandContext,
): Promise<PlanComparison> {
  const { plan, engine, project } = request;
  const { configuration } = project;
  const command = await referenceCommand(request.command, context);
  const schemas = await configurationSchemas(configuration, plan, engine.catalog);
  const ours = JSON.parse(
    planToTerraformJson(plan, { described: { configuration, schemas }, secrets: "shown" }),
  ) as ComparedPlanJson;
  const theirs = await planOf({ ...request, command }, options, context);
  return {
    command: request.command,
    version: theirs.terraform_version ?? "",
    ...comparePlanJson(ours, theirs),
  };
}

async function planOf(
  { command, workspace, state }: CompareRequest,
  options: PlanningOptions,
  context: CommandContext,
): Promise<ComparedPlanJson> {
  const scratch = await mkdtemp(join(tmpdir(), "stackwright-compare-"));
  let directory = context.directory;
  const env = commandEnvironment(context.env);
  try {
    env["TF_WORKSPACE"] = workspace;
    if (state !== undefined) {
      directory = await linkedDirectory({ state, workspace, scratch }, context);
      env["TF_DATA_DIR"] = join(scratch, "data");
      await initialize(command, directory, env, context);
    }
    const out = join(scratch, "plan");
    const words = [
      "plan",
      "-input=false",
      "-lock=false",
      "-no-color",
      `-out=${out}`,
      ...(options.refresh ? [] : ["-refresh=false"]),
      ...(options.destroy ? ["-destroy"] : []),
      ...options.target.map((address) => `-target=${address}`),
      ...options.replace.map((address) => `-replace=${address}`),
      ...options.inputs.map((input) =>
        input.kind === "var" ? `-var=${input.text}` : `-var-file=${input.path}`,
      ),
    ];
    await runProgram(command, words, { directory, env, signal: context.signal });
    const shown = ["show", "-json", out];
    const text = await runProgram(command, shown, { directory, env, signal: context.signal });
    return JSON.parse(text) as ComparedPlanJson;
  } finally {
    await rm(scratch, { recursive: true, force: true });
    if (directory !== context.directory) await rm(directory, { recursive: true, force: true });
  }
}

/** A directory next to that of the configuration, so that relative module sources lead to the same places. */
async function linkedDirectory(
  {
    state,
    workspace,
    scratch,
  }: { readonly state: string; readonly workspace: string; readonly scratch: string },
  { directory }: CommandContext,
): Promise<string> {
  const linked = await mkdtemp(join(dirname(directory), `.${basename(directory)}-compare-`)).catch(
    (error: unknown) => {
      throw new CommandError(
        `Cannot make a directory beside "${directory}" for the comparison of plans.`,
        { cause: error },
      );
    },
  );
  for (const name of await readdir(directory)) {
    if ([".terraform", ".stackwright", "terraform.tfstate", "terraform.tfstate.d"].includes(name)) {
      continue;
    }
    if (name === ".terraform.lock.hcl") await copyFile(join(directory, name), join(linked, name));
    else await symlink(join(directory, name), join(linked, name));
  }
  const path = join(scratch, "terraform.tfstate");
  const workspaces = join(scratch, "workspaces");
  const file =
    workspace === DEFAULT_WORKSPACE ? path : join(workspaces, workspace, "terraform.tfstate");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, state, { mode: 0o600 });
  const block = `terraform {
  backend "local" {
    path          = ${JSON.stringify(path)}
    workspace_dir = ${JSON.stringify(workspaces)}
  }
}
`;
  await writeFile(join(linked, "stackwright_compare_override.tf"), block);
  return linked;
}

async function initialize(
  command: string,
  directory: string,
  env: NodeJS.ProcessEnv,
  context: CommandContext,
): Promise<void> {
  const folder = terraformDataFolder(context);
  const providers = join(folder, "providers");
  const words = ["init", "-input=false", "-no-color"];
  // What is installed already is used, so that no network is needed.
  if (existsSync(providers)) words.push(`-plugin-dir=${providers}`);
  await runProgram(command, words, { directory, env, signal: context.signal });
}
