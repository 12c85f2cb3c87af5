import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "@stackwright/base/free-ports";
import { rotatingSlice } from "@stackwright/base/testing";
import {
  postgresSchema,
  startAzurite,
  startConsul,
  startFakeConsul,
  startFakeKubernetes,
} from "@stackwright/tfstate/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { stateServer } from "../testing/adoption-folder.ts";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const hasMoto = spawnSync("moto_server", ["--help"]).status === 0;

/** Block and what the environment has, of a backend that is there. */
interface Backend {
  readonly block: string;
  readonly env: NodeJS.ProcessEnv;
  /** What the real command needs besides. */
  readonly commandEnv?: NodeJS.ProcessEnv;
  /** What it says once the state is adopted. @default that our lock is there */
  readonly refusal?: string;
  /** @default true */
  readonly workspaces?: boolean;
}

const AZURITE = process.env["TEST_AZURITE"] ?? "";
const POSTGRES = process.env["TEST_POSTGRES_URL"] ?? "";
const needs = (there: boolean, reason: string): string => (there ? "" : reason);

/** A state as the real command gives it. */
interface PulledState {
  readonly serial: number;
  readonly lineage: string;
}

const BACKENDS: readonly (readonly [name: string, () => Promise<Backend>, missing: string])[] = [
  ["s3 with both locks", s3, needs(hasMoto, "there is no moto_server (Python package moto)")],
  ["azurerm", azurerm, needs(AZURITE !== "" && hasOpenssl, "needs TEST_AZURITE and openssl")],
  ["pg", pg, needs(POSTGRES !== "", "needs TEST_POSTGRES_URL")],
  ["http", http, ""],
  ["consul", consul, ""],
  ["kubernetes", kubernetes, ""],
];

describe("adopt and the way back by the command", { timeout: 240_000 }, () => {
  it.for(rotatingSlice(BACKENDS, 3))("with the backend %s", async ([, start, missing], context) => {
    context.skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
    context.skip(missing !== "", missing);
    const {
      block,
      env: own,
      commandEnv,
      workspaces = true,
      refusal = "Error acquiring the state lock",
    } = await start();
    const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-backend-"));
    onTestFinished(() => scratch.remove());
    await mkdir(join(scratch.path, ".git"));
    const write = async (value: string): Promise<void> =>
      writeFile(
        join(scratch.path, "main.tf"),
        `terraform {\n${block}\n}
resource "terraform_data" "a" { input = "${value} \${terraform.workspace}" }
output "a" { value = terraform_data.a.output }
`,
      );
    const env = {
      PATH: process.env["PATH"],
      HOME: scratch.path,
      TF_IN_AUTOMATION: "1",
      STACKWRIGHT_STORE: `sqlite://${join(scratch.path, "store.db")}`,
      STACKWRIGHT_KEY: "ab".repeat(32),
      ...own,
    };
    const terraform = async (...words: string[]): Promise<{ code: number; text: string }> =>
      new Promise((resolve) => {
        const all = { ...env, ...commandEnv };
        const options = { cwd: scratch.path, env: all, timeout: 60_000 };
        execFile(COMMAND, [...words, "-no-color"], options, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, text: stdout + stderr });
        });
      });
    const does = async (code: number, ...words: string[]): Promise<string> => {
      const { code: ended, text } = await terraform(...words);
      expect(ended, text).toBe(code);
      return text;
    };
    const stackwright = async (...words: string[]): Promise<string> => {
      const done = await tryCommand(words, { cwd: scratch.path, env });
      expect(done.code, done.output + done.error).toBe(0);
      return done.output;
    };
    // Another configuration reads the outputs, with the arguments of the block.
    const type = /"(\w+)"/.exec(block)?.[1];
    const config = block.replace(/backend "\w+" /, "config = ");
    await mkdir(join(scratch.path, "reader"));
    await writeFile(
      join(scratch.path, "reader/main.tf"),
      `data "terraform_remote_state" "a" {\n  backend = "${type}"\n${config}\n}
output "found" { value = data.terraform_remote_state.a.outputs.a }
`,
    );
    const found = async (): Promise<string> =>
      stackwright("-chdir=reader", "plan", "--stack", "reader");
    await write("one");
    await does(0, "init");
    await does(0, "apply", "-auto-approve");
    if (workspaces) {
      await does(0, "workspace", "new", "stg");
      await does(0, "apply", "-auto-approve");
      await does(0, "workspace", "select", "default");
    }

    expect(await found()).toContain('"one default"');
    expect(await stackwright("adopt", "--dry-run")).toContain("the plan is empty");
    // No lock is left, and no stack: a plan is still refused here.
    await does(0, "plan", "-detailed-exitcode", "-input=false");
    expect((await tryCommand(["plan"], { cwd: scratch.path, env })).code).toBe(1);

    await stackwright("adopt", "--yes");
    await stackwright("plan", "-detailed-exitcode");
    if (workspaces) await stackwright("plan", "--stack", "stg", "-detailed-exitcode");
    expect(await does(1, "plan", "-input=false")).toContain(refusal);
    expect(await stackwright("adopt", "--yes")).toContain("adopted it before");
    await write("two");
    await stackwright("up", "-y");
    expect(await found()).toContain('"two default"');
    await stackwright("hand-back", "--yes");
    // It compares the digest in the table with what the bucket has.
    await does(0, "plan", "-detailed-exitcode", "-input=false");

    // A mirror: each revision is written where the state was.
    const pulled = async (): Promise<PulledState> =>
      JSON.parse(await does(0, "state", "pull")) as PulledState;
    const before = await pulled();
    await stackwright("adopt", "--yes", "--mirror");
    await write("three");
    await stackwright("up", "-y");
    const mirrored = await pulled();
    expect(mirrored).toMatchObject({
      lineage: before.lineage,
      outputs: { a: { value: "three default" } },
    });
    expect(mirrored.serial).toBeGreaterThan(before.serial);
    await stackwright("hand-back", "--yes");
    await does(0, "plan", "-detailed-exitcode", "-input=false");
  });
});

const blockOf = (type: string, values: Readonly<Record<string, string>>): string =>
  [
    `  backend "${type}" {`,
    ...Object.entries(values).map(([name, value]) => `    ${name} = "${value}"`),
    "  }",
  ].join("\n");

async function azurerm(): Promise<Backend> {
  const azurite = await startAzurite(AZURITE);
  await azurite.createContainer();
  const place = { storage_account_name: azurite.account, container_name: "states" };
  return {
    block: blockOf("azurerm", { ...place, key: "team/app.tfstate" }),
    env: azurite.env,
    commandEnv: await azurite.commandEnv(),
  };
}

async function consul(): Promise<Backend> {
  const block = blockOf("consul", { path: "team/app" });
  const program = process.env["TEST_TOOL_CONSUL"];
  const address = await (program === undefined ? startFakeConsul() : startConsul(program));
  return { block, env: { CONSUL_HTTP_ADDR: address }, refusal: "adopted-by-stackwright" };
}

async function kubernetes(): Promise<Backend> {
  const { config } = await startFakeKubernetes();
  const block = blockOf("kubernetes", { secret_suffix: "app", namespace: "states" });
  return { block, env: { KUBE_CONFIG_PATH: config } };
}

async function pg(): Promise<Backend> {
  const { conn_str, schema_name } = postgresSchema(POSTGRES);
  const block = blockOf("pg", { schema_name });
  return { block, env: { PG_CONN_STR: conn_str }, refusal: "adopted-by-stackwright" };
}

async function http(): Promise<Backend> {
  const { url } = await stateServer("");
  const block = `  backend "http" {
    address        = "${url}"
    lock_address   = "${url}"
    unlock_address = "${url}"
  }`;
  return { block, env: {}, workspaces: false };
}

/** A simulation of AWS with a bucket and a table of locks. */
async function s3(): Promise<Backend> {
  const [port = 0] = await freePorts(1);
  const child = spawn("moto_server", ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const signed = (service: string): string =>
    `AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`;
  const bucket = async (): Promise<Response> =>
    fetch(`${endpoint}/states`, { method: "PUT", headers: { Authorization: signed("s3") } });
  for (let left = 200; ; left -= 1) {
    const answer = await bucket().catch((error: unknown) => {
      if (left === 0) throw error;
    });
    if (answer?.ok === true) break;
    await delay(150);
  }
  const made = await fetch(endpoint, {
    method: "POST",
    headers: {
      Authorization: signed("dynamodb"),
      "Content-Type": "application/x-amz-json-1.0",
      "X-Amz-Target": "DynamoDB_20120810.CreateTable",
    },
    body: JSON.stringify({
      TableName: "locks",
      AttributeDefinitions: [{ AttributeName: "LockID", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "LockID", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  });
  expect(made.status, await made.text()).toBe(200);
  const block = `  backend "s3" {
    bucket                      = "states"
    key                         = "app/terraform.tfstate"
    region                      = "us-east-1"
    use_path_style              = true
    use_lockfile                = true
    dynamodb_table              = "locks"
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    endpoints                   = { s3 = "${endpoint}", dynamodb = "${endpoint}" }
  }`;
  const env = {
    AWS_ACCESS_KEY_ID: "k",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_EC2_METADATA_DISABLED: "true",
  };
  return { block, env };
}
