import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Semaphore } from "@stackwright/base/limiter";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const PATH = process.env["PATH"] ?? "";

const APP = `
variable "name" { type = string }
variable "size" { type = number }
module "net" {
  source = "../net"
  name   = var.name
}
resource "terraform_data" "item" {
  for_each = toset([for index in range(var.size) : "\${var.name}-\${index}"])
  input    = { key = each.key, net = module.net.id }
}
output "keys" { value = sort(keys(terraform_data.item)) }
`;
const NET = `
variable "name" { type = string }
resource "terraform_data" "net" { input = var.name }
output "id" { value = terraform_data.net.output }
`;

/** A root module that calls the shared one, which is so many directories above. */
const rootOf = (levels: number, backend = ""): string => `
terraform {
${backend}
}
variable "size" { type = number }
variable "env" {
  type    = string
  default = "none"
}
module "app" {
  source = "${"../".repeat(levels)}modules/app"
  name   = "\${var.env}-\${terraform.workspace}"
  size   = var.size
}
output "keys" { value = module.app.keys }
`;

const ENVIRONMENTS = ["dev", "stg", "prod", "dr"] as const;
const SERVICES = Array.from({ length: 10 }, (_, index) => `svc${index}`);
/** One directory for each environment and service: values in `terraform.tfvars`. */
const BY_DIRECTORY = ENVIRONMENTS.flatMap((env) => SERVICES.map((name) => `live/${env}/${name}`));
/** One directory for each service: a workspace and a file of values for each environment. */
const BY_WORKSPACE = SERVICES.map((name) => `stacks/${name}`);
const PARTIAL = `  backend "local" {}`;

interface Repository {
  readonly path: (name: string) => string;
  readonly terraform: (
    root: string,
    ...words: readonly string[]
  ) => Promise<{ readonly code: number; readonly text: string }>;
  readonly stackwright: (...words: readonly string[]) => Promise<CommandResult>;
}

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "adopt-monorepo-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

function repositoryIn(top: string): Repository {
  const env = { PATH, HOME: top, TF_IN_AUTOMATION: "1" };
  return {
    path: (name) => join(top, name),
    terraform: async (root, ...words) =>
      new Promise((resolve) => {
        const options = { cwd: join(top, root), env, timeout: 60_000 };
        execFile(COMMAND, [...words], options, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, text: stdout + stderr });
        });
      }),
    stackwright: async (...words) => tryCommand(words, { cwd: top, env }),
  };
}

async function writeTo(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** The repository with the states that the real command made. */
async function appliedRepository(): Promise<Repository> {
  const top = await scratch();
  const repository = repositoryIn(top);
  const { path } = repository;
  const files: Record<string, string> = {
    ".git/HEAD": "",
    "modules/app/main.tf": APP,
    "modules/net/main.tf": NET,
    "backend.hcl": `path = "state/own.tfstate"\n`,
  };
  BY_DIRECTORY.forEach((root, index) => {
    const [, env] = root.split("/");
    files[`${root}/main.tf`] = rootOf(3, root.endsWith("svc9") ? PARTIAL : "");
    files[`${root}/terraform.tfvars`] = `size = ${(index % 3) + 1}\nenv = "${env}"\n`;
  });
  for (const root of BY_WORKSPACE) {
    files[`${root}/main.tf`] = rootOf(2);
    for (const env of ["stg", "prod"]) {
      files[`${root}/env/${env}.tfvars`] = `size = 2\nenv = "${env}"\n`;
    }
  }
  for (const [name, text] of Object.entries(files)) await writeTo(path(name), text);
  const run = async (root: string, ...words: readonly string[]): Promise<void> => {
    const { code, text } = await repository.terraform(root, ...words, "-no-color");
    expect(code, `${root}: terraform ${words.join(" ")}\n${text}`).toBe(0);
  };
  const limiter = new Semaphore(3);
  const apply = ["apply", "-auto-approve", "-input=false"];
  await Promise.all([
    ...BY_DIRECTORY.map(async (root) =>
      limiter.run(async () => {
        const given = root.endsWith("svc9") ? [`-backend-config=${path("backend.hcl")}`] : [];
        await run(root, "init", "-input=false", ...given);
        await run(root, ...apply);
      }),
    ),
    ...BY_WORKSPACE.map(async (root) =>
      limiter.run(async () => {
        await run(root, "init", "-input=false");
        for (const env of ["stg", "prod"]) {
          await run(root, "workspace", "new", env);
          await run(root, ...apply, `-var-file=env/${env}.tfvars`);
        }
        await run(root, "workspace", "select", "default");
      }),
    ),
  ]);
  return repository;
}

interface Report {
  readonly summary: Readonly<Record<string, number>>;
  readonly roots: readonly {
    readonly directory: string;
    readonly problem?: string;
    readonly workspaces: readonly {
      readonly workspace: string;
      readonly verdict: string;
      readonly problem?: string;
      readonly changes?: readonly unknown[];
    }[];
  }[];
}

describe("a repository of 50 root modules", { timeout: 900_000 }, () => {
  beforeEach((context) => {
    context.skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  });

  it("is adopted with empty plans, and what is left by the second call", async () => {
    const repository = await appliedRepository();
    const { path, stackwright, terraform } = repository;
    // A fresh clone has no record of init: its partial backend is completed by the command line.
    const clone = await scratch();
    await cp(path("."), clone, { recursive: true });
    const fresh = repositoryIn(clone);
    const root = "live/dev/svc9";
    await rm(fresh.path(`${root}/.terraform`), { recursive: true });
    const alone = await fresh.stackwright(
      "-chdir=live/dev/svc9",
      "adopt",
      "--yes",
      "-backend-config=../../../backend.hcl",
    );
    expect(alone.code, alone.output + alone.error).toBe(0);
    expect(alone.output).toContain("state/own.tfstate");

    const drifting = ["live/dev/svc0", "live/stg/svc1", "live/prod/svc2"];
    for (const name of drifting) await writeFile(path(`${name}/drift.auto.tfvars`), "size = 5\n");
    const broken = "live/dr/svc3/terraform.tfstate";
    const state = await readFile(path(broken), "utf8");
    await writeFile(path(broken), state.slice(0, 200));
    const words = ["adopt", "--all", "--yes", "--json"];
    const one = await stackwright(...words, "--report", "report.json");
    const report = JSON.parse(await readFile(path("report.json"), "utf8")) as Report;
    expect(report.roots).toHaveLength(50);
    const others = report.roots
      .flatMap(({ directory, workspaces, problem }) => [
        ...workspaces.map((found) => ({ directory, ...found })),
        ...(problem === undefined
          ? []
          : [{ directory, workspace: "", verdict: "failed", problem, changes: [] }]),
      ])
      .filter(({ verdict }) => verdict !== "adopted" && verdict !== "none")
      .map(({ directory, verdict }) => `${directory} ${verdict}`);
    expect(others.toSorted(), one.output).toEqual([
      "live/dev/svc0 changes",
      "live/dr/svc3 failed",
      "live/prod/svc2 changes",
      "live/stg/svc1 changes",
    ]);
    expect(report.summary).toMatchObject({ adopted: 56, changes: 3, failed: 1 });
    expect(one.code).toBe(1);

    await writeFile(path(broken), state);
    for (const name of drifting) await rm(path(`${name}/drift.auto.tfvars`));
    const two = await stackwright(...words);
    expect(two.code, two.output + two.error).toBe(0);
    expect(JSON.parse(two.output)).toMatchObject({ summary: { adopted: 4, already: 56 } });

    const plan = ["plan", "-detailed-exitcode"];
    for (const name of ["live/prod/svc2", "live/dr/svc9"]) {
      const { code, output, error } = await stackwright(`-chdir=${name}`, ...plan);
      expect(code, output + error).toBe(0);
      // The real command does not work on it any more.
      expect((await terraform(name, "plan", "-input=false")).code).toBe(1);
    }
    const values = ["--stack", "prod", "-var-file=env/prod.tfvars"];
    const last = await stackwright("-chdir=stacks/svc4", ...plan, ...values);
    expect(last.code, last.output + last.error).toBe(0);
  });

  it("is read with a file of backend arguments that is named from above", async () => {
    const top = await scratch();
    const repository = repositoryIn(top);
    const files = {
      ".git/HEAD": "",
      "modules/app/main.tf": APP,
      "modules/net/main.tf": NET,
      "shared.hcl": `path = "own.tfstate"\n`,
      "live/a/main.tf": rootOf(2, PARTIAL),
      "live/a/terraform.tfvars": "size = 1\n",
      "live/b/main.tf": rootOf(2, PARTIAL),
      "live/b/terraform.tfvars": "size = 2\n",
    };
    for (const [name, text] of Object.entries(files)) await writeTo(repository.path(name), text);
    for (const root of ["live/a", "live/b"]) {
      await repository.terraform(root, "init", "-backend-config=../../shared.hcl");
      const { code, text } = await repository.terraform(root, "apply", "-auto-approve");
      expect(code, text).toBe(0);
      await rm(repository.path(`${root}/.terraform`), { recursive: true });
    }
    const words = ["adopt", "--all", "--yes", "--json", "-backend-config=shared.hcl", "live"];
    const { code, output, error } = await repository.stackwright(...words);
    expect(code, output + error).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ summary: { adopted: 2, failed: 0 } });
  });
});
