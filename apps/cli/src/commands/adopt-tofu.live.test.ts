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

const TERRAFORM_DATA = `
variable "passphrase" { sensitive = true }
resource "terraform_data" "a" { input = "canary-of-the-state" }
output "a" { value = terraform_data.a.output }
`;

const KEYS = "keys = key_provider.pbkdf2.k";
const METHOD = `method "aes_gcm" "m" { ${KEYS} }
    state { method = method.aes_gcm.m }`;

/** Where the encryption of states is configured: a block, and what `TF_ENCRYPTION` has over it. */
const ENCRYPTIONS = [
  [
    "a block with a sensitive variable",
    `terraform {
  encryption {
    key_provider "pbkdf2" "k" { passphrase = var.passphrase }
    ${METHOD}
  }
}`,
    "",
  ],
  [
    "TF_ENCRYPTION",
    "",
    `key_provider "pbkdf2" "k" {
      passphrase               = "from the environment"
      key_length               = 16
      hash_function            = "sha256"
      encrypted_metadata_alias = "kept"
    }
    method "aes_gcm" "m" {
      ${KEYS}
      aad = [1, 2, 3]
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }`,
  ],
  [
    "TF_ENCRYPTION as JSON over a block",
    `terraform {
  encryption {
    key_provider "pbkdf2" "k" { passphrase = "replaced by the other" }
    ${METHOD}
  }
}`,
    JSON.stringify({
      key_provider: { pbkdf2: { k: { passphrase: "correct horse battery", iterations: 200_000 } } },
    }),
  ],
] as const;

describe("adopting an encrypted state of OpenTofu", { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    skip(TOFU === "", "there is no tofu command (TEST_TOOL_OPENTOFU)");
  });

  it.each(ENCRYPTIONS)("with %s takes it and gives it back encrypted", async (_, block, text) => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-encrypted-"));
    onTestFinished(() => scratch.remove());
    const cwd = join(scratch.path, "root");
    await mkdir(join(cwd, ".git"), { recursive: true });
    await writeFile(join(cwd, "main.tf"), `${block}\n${TERRAFORM_DATA}`);
    await writeFile(join(scratch.path, "cli.tfrc"), "");
    const env = {
      PATH: process.env["PATH"],
      HOME: scratch.path,
      TF_CLI_CONFIG_FILE: join(scratch.path, "cli.tfrc"),
      TF_VAR_passphrase: "a passphrase of a variable",
      ...(text !== "" && { TF_ENCRYPTION: text }),
    };
    const tofu = async (...words: readonly string[]): Promise<string> =>
      (await promisify(execFile)(TOFU, [...words, "-no-color"], { cwd, env })).stdout;
    const stored = async (): Promise<string> => readFile(join(cwd, "terraform.tfstate"), "utf8");
    const run = async (...words: readonly string[]) => {
      const done = await tryCommand(words, { cwd, env });
      expect(done.code, done.output + done.error).toBe(0);
      return done;
    };
    await tofu("init");
    await tofu("apply", "-auto-approve");
    expect(await stored()).not.toContain("canary-of-the-state");

    const wrong = {
      ...env,
      TF_ENCRYPTION: 'key_provider "pbkdf2" "k" { passphrase = "no, another one" }',
    };
    const refused = await tryCommand(["adopt", "--yes"], { cwd, env: wrong });
    expect(refused.code).toBe(1);
    expect(refused.output + refused.error).toContain("encrypt");

    const adopted = await run("adopt", "--yes", "--mirror");
    expect(adopted.output).toContain("the plan is empty");
    await run("plan", "-detailed-exitcode");
    await writeFile(
      join(cwd, "main.tf"),
      `${block}\n${TERRAFORM_DATA.replace("canary-of-the-state", "canary-of-the-next-state")}`,
    );
    await run("up", "-y");
    const mirrored = await stored();
    expect(mirrored).toContain("encrypted_data");
    expect(mirrored).not.toContain("canary-of-the");
    expect(JSON.parse(await tofu("state", "pull"))).toMatchObject({
      outputs: { a: { value: "canary-of-the-next-state" } },
    });
    await run("hand-back", "--yes");
    // Exit code 2 would reject.
    await tofu("plan", "-detailed-exitcode");
  });

  it("is read by terraform_remote_state as tofu reads it", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "read-encrypted-"));
    onTestFinished(() => scratch.remove());
    await writeFile(join(scratch.path, "cli.tfrc"), "");
    const keys = `key_provider "pbkdf2" "k" { passphrase = "correct horse battery" }
method "aes_gcm" "m" { ${KEYS} }
method "unencrypted" "u" {}`;
    const of = async (name: string, text: string, encryption: string) => {
      const cwd = join(scratch.path, name);
      await mkdir(join(cwd, ".git"), { recursive: true });
      await writeFile(join(cwd, "main.tf"), text);
      const env = {
        PATH: process.env["PATH"],
        HOME: scratch.path,
        TF_CLI_CONFIG_FILE: join(scratch.path, "cli.tfrc"),
        TF_ENCRYPTION: `${keys}\n${encryption}`,
      };
      const tofu = async (...words: readonly string[]): Promise<string> =>
        promisify(execFile)(TOFU, [...words, "-no-color"], { cwd, env }).then(
          ({ stdout }) => stdout,
          ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
        );
      await tofu("init");
      return { tofu, run: async (...words: string[]) => tryCommand(words, { cwd, env }) };
    };
    const writer = await of(
      "writer",
      'output "word" { value = "found" }',
      "state { method = method.aes_gcm.m }",
    );
    await writer.tofu("apply", "-auto-approve");
    const reading = `module "child" {\n  source = "./child"\n}
output "word" { value = module.child.word }`;
    await mkdir(join(scratch.path, "reader/child"), { recursive: true });
    await writeFile(
      join(scratch.path, "reader/child/main.tf"),
      `data "terraform_remote_state" "a" {
  count   = 1
  backend = "local"
  config  = { path = "../writer/terraform.tfstate" }
}
output "word" { value = data.terraform_remote_state.a[0].outputs.word }
`,
    );
    const method = (name: string): string => `{\n  method = method.${name}\n}`;
    const block = (name: string, own: string): string =>
      `remote_state_data_source "${name}" ${method(own)}`;
    for (const [remote, isRead] of [
      [`default ${method("aes_gcm.m")}`, true],
      [block("child.a[0]", "aes_gcm.m"), true],
      [block("child.a", "aes_gcm.m"), false],
      [block("child.a[1]", "aes_gcm.m"), false],
      [`default ${method("aes_gcm.m")}\n${block("child.a[0]", "unencrypted.u")}`, false],
      ["", false],
    ] as const) {
      const blocks = `remote_state_data_sources {\n${remote}\n}`;
      const { tofu, run } = await of("reader", reading, blocks);
      const theirs = (await tofu("plan")).includes('"found"');
      const { output } = await run("plan");
      expect([remote, theirs, output.includes('"found"')]).toEqual([remote, isRead, isRead]);
    }
  });

  it("names a key provider that only OpenTofu has", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-encrypted-"));
    onTestFinished(() => scratch.remove());
    const state = {
      serial: 1,
      lineage: "x",
      meta: { "key_provider.aws_kms.k": "e30=" },
      encrypted_data: "AAAA",
      encryption_version: "v0",
    };
    await writeFile(join(scratch.path, "terraform.tfstate"), JSON.stringify(state));
    await writeFile(
      join(scratch.path, "main.tf"),
      `terraform {
  encryption {
    key_provider "aws_kms" "k" { kms_key_id = "x" }
    method "aes_gcm" "m" { keys = key_provider.aws_kms.k }
    state { method = method.aes_gcm.m }
  }
}
`,
    );
    const refused = await tryCommand(["adopt", "--yes"], { cwd: scratch.path });
    expect(refused.code).toBe(1);
    expect(refused.output + refused.error).toContain('the key provider "aws_kms"');
    expect(refused.output + refused.error).toContain("adopt --pull tofu");
  });
});

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
