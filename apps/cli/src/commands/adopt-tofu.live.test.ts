import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const TOFU = process.env["TEST_TOOL_OPENTOFU"] ?? "";
const RANDOM = process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"] ?? "";
const HOSTS = ["registry.opentofu.org", "registry.terraform.io"];

const CONFIGURATION = `
variable "length" { default = 12 }
resource "random_password" "p" { length = var.length }
resource "random_pet" "many" { count = 2 }
output "pet" { value = random_pet.many[0].id }
`;

/** A root module that tofu has applied, with the provider from the registry that tofu takes it from. */
async function applied() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-tofu-"));
  onTestFinished(() => scratch.remove());
  const at = (...names: readonly string[]): string => join(scratch.path, ...names);
  const name = /\d+\.\d+\.\d+/.exec(basename(RANDOM))?.[0] ?? "3.9.0";
  for (const host of HOSTS) {
    const folder = at("mirror", host, "hashicorp/random", name, "linux_amd64");
    await mkdir(folder, { recursive: true });
    await copyFile(RANDOM, join(folder, `terraform-provider-random_v${name}`));
  }
  const mirror = `provider_installation {\n  filesystem_mirror { path = ${JSON.stringify(at("mirror"))} }\n}\n`;
  await writeFile(at("cli.tfrc"), mirror);
  const cwd = at("root");
  await mkdir(join(cwd, ".git"), { recursive: true });
  await writeFile(join(cwd, "main.tf"), CONFIGURATION);
  const env = { PATH: process.env["PATH"], HOME: at(), TF_CLI_CONFIG_FILE: at("cli.tfrc") };
  const tofu = async (...words: readonly string[]): Promise<string> =>
    (await promisify(execFile)(TOFU, [...words], { cwd, env })).stdout;
  await tofu("init", "-no-color");
  await tofu("apply", "-auto-approve", "-no-color");
  return { cwd, env, tofu };
}

describe("adopting a state of OpenTofu", { timeout: 300_000 }, () => {
  beforeEach(({ skip }) => {
    skip(TOFU === "" || RANDOM === "", "there is no tofu command, or no provider (TEST_TOOL_*)");
  });

  it("plans as tofu does, with the providers that its lock file names, and comes back to it", async () => {
    const { cwd, env, tofu } = await applied();
    const lock = await readFile(join(cwd, ".terraform.lock.hcl"), "utf8");
    expect(lock).toContain("registry.opentofu.org/hashicorp/random");
    const adopted = await tryCommand(["adopt", "--yes", "--verify", TOFU, "--mirror"], {
      cwd,
      env,
    });
    expect(adopted.code, adopted.output + adopted.error).toBe(0);
    expect(adopted.output).toContain("the plan is empty");
    expect(adopted.output).toMatch(/The plan of \S+ 1\.\d+\.\d+ is the same: 4 objects/);
    expect(await readFile(join(cwd, ".terraform.lock.hcl"), "utf8")).toBe(lock);

    // Equal where there are changes as well: a replacement, an unknown value.
    const words = ["plan", "-compare", TOFU, "-var=length=20"];
    const compared = await tryCommand(words, { cwd, env });
    expect(compared.code, compared.output + compared.error).toBe(0);
    expect(compared.output).toContain("is the same");

    const up = await tryCommand(["up", "-y", "-var=length=20"], { cwd, env });
    expect(up.code, up.output + up.error).toBe(0);
    const state = await readFile(join(cwd, "terraform.tfstate"), "utf8");
    expect(state).not.toContain("registry.terraform.io");
    // Exit code 2 would reject.
    await tofu("plan", "-detailed-exitcode", "-no-color", "-var=length=20");
  });
});
