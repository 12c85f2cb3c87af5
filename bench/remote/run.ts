import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { type RemoteServer, send, startFileServer, startServer } from "./server.ts";

// Unmodified terraform against a server, next to what it does alone: node run.ts [state] [plan] [log] [list].

const execute = promisify(execFile);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const STATE_MB = 100;
const WORKSPACES = 1_000;
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

const wanted = process.argv.slice(2);
const isWanted = (section: string): boolean => wanted.length === 0 || wanted.includes(section);

await using server = await startServer();
const ca = await readFile(server.certificateFile);
const own = { ...server, ca };
if (isWanted("state")) await states(server);
if (isWanted("plan")) await plans();
if (isWanted("log")) await logTail();
if (isWanted("list")) await list();

/** POST and GET of one state, and the same bytes at a server that keeps a file. In turns. */
async function states(given: RemoteServer): Promise<void> {
  await using files = await startFileServer(given);
  const bare = { ...own, host: files.host };
  const path = "/state/v1/default/bench/large";
  const took: Record<string, number[]> = {};
  for (let serial = 1; serial <= ROUNDS; serial += 1) {
    const state = stateOf(serial);
    for (const [name, place] of [
      ["file server", bare],
      ["state API", own],
    ] as const) {
      await timed(took, `POST, ${name}`, async () => send(place, "POST", path, state));
      await timed(took, `GET, ${name}`, async () => send(place, "GET", path));
    }
  }
  print(`A state of ${STATE_MB} MB`, took);
  for (const method of ["GET", "POST"]) {
    recordFigure({
      name: `remote: ${method} of a state`,
      unit: "ms",
      size: STATE_MB,
      of: "MB",
      ours: spreadOf("state API", took[`${method}, state API`] ?? []),
      baseline: spreadOf("file server", took[`${method}, file server`] ?? []),
    });
  }
}

function stateOf(serial: number): Buffer {
  const instance = { schema_version: 0, attributes: { id: "x".repeat(1_000_000) } };
  const resources = Array.from({ length: STATE_MB }, (_, number) => ({
    mode: "managed",
    type: "terraform_data",
    name: `r${number}`,
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [instance],
  }));
  const head = { version: 4, terraform_version: "1.11.4", serial, lineage: "bench" };
  return Buffer.from(JSON.stringify({ ...head, outputs: {}, resources }));
}

/** `terraform plan` of the same configuration by a run of the server, and alone. In turns. */
async function plans(): Promise<void> {
  const resources = 'resource "terraform_data" "a" {\n  count = 100\n  input = count.index\n}\n';
  const alone = await root("alone", resources);
  const remote = await root("remote", `${cloud('name = "plan"')}${resources}`);
  await workspace("plan", "remote");
  await Promise.all([alone("init"), remote("init")]);
  const took: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    await timed(took, "terraform plan alone", async () => alone("plan"));
    await timed(took, "terraform plan by the server", async () => remote("plan"));
  }
  print("A plan of 100 instances", took);
}

/** From the moment in which a provisioner writes a line to that in which the log has it. */
async function logTail(): Promise<void> {
  const lines = 30;
  const script = `for i in $(seq ${lines}); do echo at=$(date +%s%3N); sleep 0.2; done`;
  const text = `resource "terraform_data" "a" {\n  provisioner "local-exec" { command = "${script}" }\n}\n`;
  await workspace("log", "remote");
  const run = await root("log", `${cloud('name = "log"')}${text}`);
  await run("init");
  const applied = run("apply", "-auto-approve");
  const found = JSON.parse(
    (await send(own, "GET", "/api/v2/organizations/default/workspaces/log")).text,
  ) as Data;
  const latencies: number[] = [];
  let address = "";
  let seen = 0;
  for (let offset = 0; latencies.length < lines; await pause(10)) {
    if (address === "") {
      const { text: runs } = await send(own, "GET", `/api/v2/workspaces/${found.data.id}/runs`);
      const [newest] = (JSON.parse(runs) as { readonly data: readonly Data["data"][] }).data;
      if (newest === undefined) continue;
      const apply = `/api/v2/applies/${newest.id.replace("run-", "apply-")}`;
      const shown = JSON.parse((await send(own, "GET", apply)).text) as Data;
      address = new URL(String(shown.data.attributes["log-read-url"])).pathname;
    }
    const slice = await send(own, "GET", `${address}?limit=65536&offset=${offset}`);
    offset += slice.bytes;
    const now = Date.now();
    for (const [, at] of slice.text.matchAll(/\(local-exec\): at=(\d+)/g)) {
      latencies.push(now - Number(at));
    }
    seen += slice.bytes;
    if (slice.text.includes("\u0003") && latencies.length < lines) {
      throw new Error(`the log ended after ${latencies.length} lines and ${seen} bytes`);
    }
  }
  await applied;
  print(`The tail of a log, ${lines} lines`, { "written to readable": latencies });
}

/** `terraform workspace list` of many. */
async function list(): Promise<void> {
  for (let number = 0; number < WORKSPACES; number += 1) {
    await workspace(`many-${String(number).padStart(4, "0")}`, "local", ["many"]);
  }
  const run = await root("list", cloud('tags = ["many"]'), { TF_WORKSPACE: "many-0000" });
  await run("init");
  const took: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    const text = await timed(took, "terraform workspace list", async () =>
      run("workspace", "list"),
    );
    const names = new Set([...text.matchAll(/many-\d{4}/g)].map(([name]) => name));
    if (names.size !== WORKSPACES) throw new Error(`${names.size} workspaces were listed`);
  }
  print(`${WORKSPACES} workspaces`, took);
}

interface Data {
  readonly data: { readonly id: string; readonly attributes: Readonly<Record<string, unknown>> };
}

async function workspace(name: string, mode: string, tags: readonly string[] = []): Promise<void> {
  const body = {
    data: {
      attributes: { name, "execution-mode": mode },
      relationships: {
        tags: { data: tags.map((tag) => ({ type: "tags", attributes: { name: tag } })) },
      },
    },
  };
  await send(own, "POST", "/api/v2/organizations/default/workspaces", JSON.stringify(body));
}

function cloud(workspaces: string): string {
  return `terraform {\n  cloud {\n    hostname = "${server.host}"\n    organization = "default"\n    workspaces { ${workspaces} }\n  }\n}\n`;
}

/** A root module, and the command in it. */
async function root(name: string, text: string, more: Readonly<Record<string, string>> = {}) {
  const folder = join(server.folder, "roots", name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "main.tf"), text);
  const rc = join(server.folder, "rc");
  await writeFile(rc, `credentials "${server.host}" {\n  token = "${server.token}"\n}\n`);
  const env = {
    ...process.env,
    TF_CLI_CONFIG_FILE: rc,
    SSL_CERT_FILE: server.certificateFile,
    CHECKPOINT_DISABLE: "1",
    TF_CLI_ARGS: "-no-color",
    ...more,
  };
  return async (...words: readonly string[]): Promise<string> =>
    (await execute(TERRAFORM, [...words], { cwd: folder, env, maxBuffer: 2 ** 26 })).stdout;
}

async function timed<T>(
  took: Record<string, number[]>,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const result = await work();
  (took[name] ??= []).push(performance.now() - start);
  return result;
}

function print(title: string, took: Readonly<Record<string, readonly number[]>>): void {
  console.log(`\n${title}\n\n| what | median ms | lowest - highest |\n| --- | --- | --- |`);
  for (const [name, all] of Object.entries(took)) {
    const sorted = all.toSorted((a, b) => a - b);
    const [low, mid, high] = [0, 0.5, 1].map(
      (share) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0,
    );
    console.log(`| ${name} | ${mid?.toFixed(0)} | ${low?.toFixed(0)} - ${high?.toFixed(0)} |`);
  }
}
