import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "@stackwright/base/free-ports";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  COMMAND,
  NO_COMMAND,
  provesItself,
  type RootModule,
  record,
  rootModule,
} from "../testing/real-root-module.ts";
import type { ArgumentValues } from "./backend-arguments.ts";

const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const FAKE_GCS = process.env["TEST_TOOL_FAKE_GCS_SERVER"] ?? "";
const hasMoto = spawnSync("moto_server", ["--help"]).status === 0;
const KEYS = {
  AWS_ACCESS_KEY_ID: "k",
  AWS_SECRET_ACCESS_KEY: "s",
  AWS_EC2_METADATA_DISABLED: "true",
};

describe("states of the real command", { timeout: 300_000 }, () => {
  beforeEach((context) => {
    context.skip(!hasCommand, NO_COMMAND);
  });

  it("are read where the local backend keeps them", async () => {
    const root = await rootModule("local", `    path = "st/x.tfstate"`);
    await provesItself(root, { path: "st/x.tfstate" });
  });

  it("are not locked for us while the local backend has its own lock", async () => {
    const root = await rootModule("local", "");
    expect((await root.run("init", "-no-color")).code).toBe(0);
    expect((await root.run("apply", "-auto-approve", "-no-color")).code).toBe(0);
    // The console holds the lock until its input ends.
    const child = spawn(COMMAND, ["console"], {
      cwd: root.directory,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const exited = once(child, "exit");
    await using backend = await root.open({});
    // Written once the lock is held: a lock of ours before that would make the console fail.
    const info = join(root.directory, ".terraform.tfstate.lock.info");
    await expect.poll(() => existsSync(info), { timeout: 60_000 }).toBe(true);
    const refusal: unknown = await backend
      .lock("default", record())
      .catch((error: unknown) => error);
    child.stdin.end();
    await exited;
    expect(refusal).toMatchObject({ code: "TFSTATE_BACKEND_LOCKED" });
    expect(String(refusal)).toContain("held by");
  });

  it("are read from a server of HTTP", async () => {
    const server = await stateServer();
    const block = `    address = "${server}/state"\n    lock_address = "${server}/state"\n    unlock_address = "${server}/state"\n    username = "ann"`;
    const root = await rootModule("http", block, { TF_HTTP_PASSWORD: "pw" });
    const values = { address: `${server}/state`, lock_address: `${server}/state`, username: "ann" };
    await provesItself(root, values, { workspaces: false });
  });

  it("are read from PostgreSQL", async (context) => {
    const url = process.env["TEST_POSTGRES_URL"];
    context.skip(url === undefined, "no PostgreSQL server: TEST_POSTGRES_URL is not set");
    if (url === undefined) return;
    const schema = `tf_${randomUUID().slice(0, 8)}`;
    onTestFinished(async () => {
      const sql = postgres(url, { max: 1, onnotice: () => undefined });
      await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
      await sql.end();
    });
    const address = url.includes("sslmode")
      ? url
      : `${url}${url.includes("?") ? "&" : "?"}sslmode=disable`;
    const root = await rootModule("pg", `    schema_name = "${schema}"`, { PG_CONN_STR: address });
    await provesItself(root, { schema_name: schema });
  });
});

describe("states in a bucket", { timeout: 300_000 }, () => {
  beforeEach((context) => {
    context.skip(!hasCommand, NO_COMMAND);
    context.skip(!hasMoto, "there is no moto_server (Python package moto)");
  });

  let endpoint = "";
  let stop: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    if (!hasMoto) return;
    const [port = 0] = await freePorts(1);
    const child = spawn("moto_server", ["-H", "127.0.0.1", "-p", String(port)], {
      stdio: "ignore",
    });
    stop = async () => {
      child.kill();
      await once(child, "exit");
    };
    endpoint = `http://127.0.0.1:${port}`;
    await untilOpen(port);
  }, 60_000);
  afterAll(async () => stop());

  it.each([
    ["a lock as an object", { use_lockfile: true }],
    ["a lock as an item of a table", { dynamodb_table: "locks" }],
    ["both locks", { use_lockfile: true, dynamodb_table: "locks" }],
    ["an own prefix of workspaces", { use_lockfile: true, workspace_key_prefix: "ws" }],
  ] as const)("are read with %s", async (_name, extra) => {
    const bucket = `states-${randomUUID().slice(0, 8)}`;
    await makeBucket(endpoint, bucket);
    const values = {
      bucket,
      key: "app/terraform.tfstate",
      region: "eu-west-1",
      use_path_style: true,
      endpoints: { s3: endpoint, dynamodb: endpoint, sts: endpoint, iam: endpoint },
      ...extra,
    };
    const lines = Object.entries(extra).map(
      ([name, value]) => `    ${name} = ${JSON.stringify(value)}`,
    );
    const block = `    bucket = "${bucket}"
    key = "app/terraform.tfstate"
    region = "eu-west-1"
    use_path_style = true
    skip_credentials_validation = true
    skip_requesting_account_id = true
    endpoints = { s3 = "${endpoint}", dynamodb = "${endpoint}" }
${lines.join("\n")}`;
    const root = await rootModule("s3", block, KEYS);
    await provesItself(root, values);
  });

  it("are refused where the table has another digest", async () => {
    const bucket = `states-${randomUUID().slice(0, 8)}`;
    await makeBucket(endpoint, bucket);
    const block = `    bucket = "${bucket}"
    key = "a"
    region = "eu-west-1"
    use_path_style = true
    skip_credentials_validation = true
    skip_requesting_account_id = true
    dynamodb_table = "locks"
    endpoints = { s3 = "${endpoint}", dynamodb = "${endpoint}" }`;
    const root = await rootModule("s3", block, KEYS);
    expect((await root.run("init", "-no-color")).code).toBe(0);
    expect((await root.run("apply", "-auto-approve", "-no-color")).code).toBe(0);
    const plain = {
      bucket,
      key: "a",
      region: "eu-west-1",
      use_path_style: true,
      endpoints: { s3: endpoint, dynamodb: endpoint },
    };
    await using without = await root.open(plain);
    const bytes = await without.read("default");
    // A writer that does not know the table.
    await without.write("default", Buffer.concat([Buffer.from(bytes ?? []), Buffer.from("\n")]));
    await using withTable = await root.open({ ...plain, dynamodb_table: "locks" });
    await expect(withTable.read("default")).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_DIGEST",
    });
  });
});

describe("states in Google Cloud Storage", { timeout: 300_000 }, () => {
  beforeEach((context) => {
    context.skip(!hasCommand, NO_COMMAND);
    context.skip(FAKE_GCS === "", "TEST_TOOL_FAKE_GCS_SERVER is not set");
  });

  let endpoint = "";
  let stop: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    if (FAKE_GCS === "") return;
    const [port = 0] = await freePorts(1);
    const words = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"];
    // The real command reads objects at the address of the public host.
    const own = ["-port", String(port), "-public-host", `127.0.0.1:${port}`];
    const child = spawn(FAKE_GCS, [...words, ...own], { stdio: "ignore" });
    stop = async () => {
      child.kill();
      await once(child, "exit");
    };
    endpoint = `http://127.0.0.1:${port}/storage/v1/`;
    await untilOpen(port);
  }, 60_000);
  afterAll(async () => stop());

  it.each([
    ["a prefix", { prefix: "team/app" }],
    ["a prefix between slashes", { prefix: "/app/" }],
    ["no prefix", {}],
    ["a key of the customer", { encryption_key: Buffer.alloc(32, 5).toString("base64") }],
  ] as const)("are read with %s", async (_name, extra) => {
    const bucket = `states-${randomUUID().slice(0, 8)}`;
    const made = await fetch(`${endpoint}b?project=test`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: bucket }),
    });
    expect(made.status).toBe(200);
    const values = { bucket, storage_custom_endpoint: endpoint, ...extra };
    const lines = Object.entries(values).map(
      ([name, value]) => `    ${name} = ${JSON.stringify(value)}`,
    );
    const env = { GOOGLE_OAUTH_ACCESS_TOKEN: "any" };
    const root = await rootModule("gcs", lines.join("\n"), env);
    await provesItself(root, values);
    await isReleasedByItsArgument(root, values);
  });
});

/** A lock of ours is released by the real command with the argument that we say. */
async function isReleasedByItsArgument(root: RootModule, values: ArgumentValues): Promise<void> {
  await using backend = await root.open(values);
  const held = await backend.lock("default", record());
  const words = ["force-unlock", "-force", held.unlockArgument ?? held.id];
  const released = await root.run(...words);
  expect(released.code, released.text).toBe(0);
  const plan = await root.run("plan", "-detailed-exitcode", "-input=false", "-no-color");
  expect(plan.code, plan.text).toBe(0);
}

async function makeBucket(endpoint: string, bucket: string): Promise<void> {
  const { CreateBucketCommand, S3Client } = await import("@aws-sdk/client-s3");
  const { CreateTableCommand, DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
  const config = {
    endpoint,
    region: "eu-west-1",
    credentials: { accessKeyId: "k", secretAccessKey: "s" },
  };
  const s3 = new S3Client({ ...config, forcePathStyle: true });
  await s3.send(
    new CreateBucketCommand({
      Bucket: bucket,
      CreateBucketConfiguration: { LocationConstraint: "eu-west-1" },
    }),
  );
  const create = new CreateTableCommand({
    TableName: "locks",
    AttributeDefinitions: [{ AttributeName: "LockID", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "LockID", KeyType: "HASH" }],
    BillingMode: "PAY_PER_REQUEST",
  });
  await new DynamoDBClient(config).send(create).catch((error: Error) => {
    if (error.name !== "ResourceInUseException") throw error;
  });
}

/** A server of the protocol of the http backend, with basic authentication. */
async function stateServer(): Promise<string> {
  let state: Buffer | undefined;
  let lock: string | undefined;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      const answer = (status: number, content?: Buffer | string): void => {
        response.writeHead(status);
        response.end(content);
      };
      const wanted = `Basic ${Buffer.from("ann:pw").toString("base64")}`;
      if (request.headers.authorization !== wanted) return answer(401);
      switch (request.method ?? "") {
        case "GET":
          return state === undefined ? answer(404) : answer(200, state);
        case "POST": {
          const id = new URL(request.url ?? "", "http://x").searchParams.get("ID") ?? "";
          if (lock !== undefined && !lock.includes(id)) return answer(423, lock);
          state = body;
          return answer(200);
        }
        case "LOCK":
          if (lock !== undefined) return answer(423, lock);
          lock = body.toString("utf8");
          return answer(200);
        case "UNLOCK":
          lock = undefined;
          return answer(200);
        default:
          return answer(405);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const socket = connect(port, "127.0.0.1");
    const opened = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (opened) return;
    await delay(150);
  }
  throw new Error(`nothing answers at port ${port}`);
}
