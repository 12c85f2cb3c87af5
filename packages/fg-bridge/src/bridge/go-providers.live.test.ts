import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createProcessRunner } from "../function/process-runner.ts";
import { startBridgedFunction, TEST_URN } from "../testing/bridged-function.ts";
import type { BridgeManifest } from "./bridge-binding.ts";
import { loadBridgeProgram, packBridgeExecutable } from "./bridge-program.ts";
import { bundleSchema } from "./bundled-schema.ts";

/*
 * The real command uses providers that others wrote in Go, each behind a function, through the bridge. Rows of the
 * acceptance plan stand before what shows them.
 */

const found = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
const version = /"terraform_version":\s*"([^"]+)"/.exec(found.stdout ?? "")?.[1];
const NAMES = ["random", "null", "tls", "local"] as const;
const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;
const MINUTES = 60_000;

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** A folder whose configuration finds the providers as bridges to functions. */
async function setUp() {
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "bridge-go-")));
  const program = await loadBridgeProgram();
  const overrides: string[] = [];
  for (const name of NAMES) {
    const command = process.env[variableOf(name)] ?? "";
    const runner = await createProcessRunner({ command, temporaryDirectory: scratch.path });
    const timeoutMs = 60_000;
    const bridged = cleanup.use(await startBridgedFunction({ runner, server: { timeoutMs } }));
    const schema = await bridged.connect().unary("GetSchema", new Uint8Array(), {});
    const manifest: BridgeManifest = {
      address: `example.com/acme/${name}`,
      version: "1.0.0",
      functionUrn: TEST_URN,
      endpoint: { kind: "url", url: bridged.server.url },
      networks: ["127.0.0.0/8"],
      schema: Buffer.from(bundleSchema(schema) ?? []).toString("base64"),
    };
    const bin = join(scratch.path, name);
    await mkdir(bin);
    const path = join(bin, `terraform-provider-${name}`);
    await writeFile(path, packBridgeExecutable(program, manifest), { mode: 0o755 });
    overrides.push(`"example.com/acme/${name}" = ${JSON.stringify(bin)}`);
  }
  const rc = join(scratch.path, "rc");
  const installation = `dev_overrides {\n${overrides.join("\n")}\n}\ndirect {}`;
  await writeFile(rc, `provider_installation {\n${installation}\n}\n`);
  const required = NAMES.map((name) => `${name} = { source = "example.com/acme/${name}" }`);
  const configure = (text: string) =>
    writeFile(
      join(scratch.path, "main.tf"),
      `terraform {\nrequired_providers {\n${required.join("\n")}\n}\n}\n${text}`,
    );
  const run = async (words: string) => {
    const child = spawn("terraform", [...words.split(" "), "-no-color"], {
      cwd: scratch.path,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: scratch.path,
        TF_CLI_CONFIG_FILE: rc,
        CHECKPOINT_DISABLE: "1",
        TF_INPUT: "0",
        STACKWRIGHT_FUNCTION_TIMEOUT_MS: "60000",
      },
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    return { code, output };
  };
  const ok = async (words: string) => {
    const { code, output } = await run(words);
    expect(code, output).toBe(0);
    return output;
  };
  return { configure, run, ok, folder: scratch.path };
}

describe("the real command and Go providers in functions", () => {
  // D2 (private bytes), D3, D5, D10 (nested blocks), D12
  it("makes, replaces and takes away what depends on each other across providers", {
    timeout: 5 * MINUTES,
  }, async (ctx) => {
    ctx.skip(version?.startsWith("1.11.") !== true, "the command terraform 1.11 is not installed");
    for (const name of NAMES) {
      const variable = variableOf(name);
      ctx.skip((process.env[variable] ?? "") === "", `${variable} is not set`);
    }
    const { configure, run, ok, folder } = await setUp();
    const template = (length: number) => `
      resource "random_pet" "name" { length = ${length} }
      resource "tls_private_key" "key" {
        algorithm = "ED25519"
      }
      resource "tls_self_signed_cert" "cert" {
        private_key_pem       = tls_private_key.key.private_key_pem
        validity_period_hours = 12
        allowed_uses          = ["server_auth"]
        subject {
          common_name  = random_pet.name.id
          organization = "Acme"
        }
      }
      resource "local_file" "cert" {
        filename = "${folder}/cert.pem"
        content  = tls_self_signed_cert.cert.cert_pem
      }
      resource "null_resource" "done" {
        triggers = { file = local_file.cert.id }
      }
      output "name" { value = random_pet.name.id }`;
    await configure(template(2));
    await ok("apply -auto-approve");
    expect(await readFile(join(folder, "cert.pem"), "utf8")).toContain("BEGIN CERTIFICATE");
    const state = await readFile(join(folder, "terraform.tfstate"), "utf8");
    // The old SDK gives "null" as its private bytes.
    expect(state).toContain(`"private": "${Buffer.from("null").toString("base64")}"`);
    expect((await run("plan -detailed-exitcode")).code).toBe(0);

    await configure(template(3));
    expect(await ok("plan")).toContain("# forces replacement");
    await ok("apply -auto-approve");
    expect((await ok("output -raw name")).split("-")).toHaveLength(3);
    expect((await run("plan -detailed-exitcode")).code).toBe(0);

    await configure(`${template(3)}\nresource "tls_private_key" "bad" {\n  algorithm = "NO"\n}`);
    const refused = await run("plan");
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("Invalid Attribute Value Match");
    expect(refused.output).toMatch(/in resource "tls_private_key" "bad":\n.*algorithm = "NO"/);
    await configure(template(3));
    await ok("destroy -auto-approve");
    await expect(readFile(join(folder, "cert.pem"))).rejects.toThrow("ENOENT");
  });
});
