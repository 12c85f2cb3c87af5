import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createServerClient, type RunLogEvent } from "@stackwright/client";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runSpawned, type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";

// The same run in every way that there is: asked for by requests, by the client and by the command, kept in each of the stores, executed by the
// server and by a worker elsewhere. Whatever the way, the stack has the same objects, and its runs the same phases.

const { TEST_POSTGRES_URL: POSTGRES, TEST_ETCD_ENDPOINTS: ETCD } = process.env;
const PROJECT = "default";
const waiting = { timeout: 120_000, interval: 100 };

/** A store of its own in the cluster that the environment names. */
function etcdStore(): string | undefined {
  return ETCD && `etcd://${new URL(ETCD).host}/ways-${randomBytes(8).toString("hex")}`;
}

const configurationOf = (word: string): string => `
variable "size" { default = 2 }
resource "terraform_data" "a" {
  count = var.size
  input = "${word}-\${count.index}"
}
output "word" { value = terraform_data.a[0].output }
`;

/** A configuration as an archive of `tar`. */
async function archiveOf(cwd: string, word: string): Promise<Uint8Array> {
  const folder = join(cwd, `packed-${word}`);
  await mkdir(folder);
  await writeFile(join(folder, "main.tf"), configurationOf(word));
  return Uint8Array.from(execFileSync("tar", ["-cz", "-C", folder, "main.tf"]));
}

interface Place {
  readonly url: string;
  readonly token: string;
  readonly cwd: string;
}

/** Through which a run passes that is approved. */
const PHASES = [
  "queued",
  "preparing",
  "planning",
  "planned",
  "awaiting_approval",
  "approved",
  "applying",
  "applied",
];

/** Asks for a run: ends when the run is applied, and gives its id. */
type Way = (place: Place, stack: string) => Promise<string>;

const byRequests: Way = async ({ url, token, cwd }, stack) => {
  const call = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const isJson = body !== undefined && !(body instanceof Uint8Array);
    const type = isJson ? "application/json" : "application/gzip";
    const answer = await fetch(`${url}/api/v1/projects/${PROJECT}/stacks${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": type }),
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : Uint8Array.from(body) }),
    });
    expect(answer.status, await answer.clone().text()).toBeLessThan(300);
    return (await answer.json()) as Record<string, unknown>;
  };
  await call("", { name: stack });
  const { digest } = await call(`/${stack}/configurations`, await archiveOf(cwd, stack));
  const { id } = await call(`/${stack}/runs`, { configuration: digest });
  const run = `/${stack}/runs/${String(id)}`;
  const phase = async (): Promise<unknown> => (await call(run))["phase"];
  await expect.poll(phase, waiting).toBe("awaiting_approval");
  await call(`${run}/approvals`, { plan_digest: (await call(run))["plan_digest"] });
  await expect.poll(phase, waiting).toBe("applied");
  return String(id);
};

const byClient: Way = async ({ url, token, cwd }, stack) => {
  const client = createServerClient({ server: url, token });
  await client.createStack({ project: PROJECT, body: { name: stack } });
  const body = await archiveOf(cwd, stack);
  const { data } = await client.createConfiguration({ project: PROJECT, stack, body });
  const created = await client.createRun({
    project: PROJECT,
    stack,
    body: { configuration: data.digest },
  });
  const reference = { project: PROJECT, stack, run: created.data.id };
  const shown = async () => (await client.showRun(reference)).data;
  await expect.poll(async () => (await shown()).phase, waiting).toBe("awaiting_approval");
  const { plan_digest = "" } = await shown();
  await client.approveRun({ ...reference, body: { plan_digest } });
  const types: string[] = [];
  for await (const { type } of client.followRun(reference)) types.push(type);
  expect(types.at(-1)).toBe("end");
  expect((await shown()).phase).toBe("applied");
  return created.data.id;
};

const byCommand: Way = async ({ url, token, cwd }, stack) => {
  const folder = join(cwd, stack);
  await mkdir(folder);
  await writeFile(join(folder, "main.tf"), configurationOf(stack));
  const at = {
    cwd: folder,
    env: { STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: token, STACKWRIGHT_STACK: stack },
  };
  // The plan waits for its approval, which is exit code 2.
  const started = await runSpawned(["runs", "start", "--json"], at);
  expect(started.code, started.text).toBe(2);
  const id = /"id":"([0-9A-Z]{26})"/.exec(started.text)?.[1] ?? "";
  const approved = await runSpawned(["runs", "approve", id, "--yes"], at);
  expect(approved.code, approved.text).toBe(0);
  const logs = await runSpawned(["runs", "logs", id, "--follow"], at);
  expect(logs.code, logs.text).toBe(0);
  expect(logs.text).toContain("Run 1 is applied");
  return id;
};

const WAYS: ReadonlyMap<string, Way> = new Map([
  ["requests", byRequests],
  ["client", byClient],
  ["command", byCommand],
]);

describe.for([
  ["sqlite", "sqlite:data"],
  ["PostgreSQL", POSTGRES],
  ["etcd", etcdStore()],
] as const)("runs on %s", { timeout: 300_000 }, ([name, store]) => {
  let cwd: string;
  let started: SpawnedCommand[];

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "every-way-"));
    started = [];
    onTestFinished(async () => {
      for (const one of started.toReversed()) await one.stop("SIGKILL");
      await scratch.remove();
    });
    cwd = scratch.path;
  });

  const start = (words: readonly string[], env: NodeJS.ProcessEnv = {}): SpawnedCommand => {
    const command = spawnCommand(words, { cwd, env });
    started.push(command);
    return command;
  };

  const startPlace = async (address: string, where: "server" | "worker"): Promise<Place> => {
    await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
    const common = ["--store", address, "--key-file", "key"];
    // Only this account of a store that other tests have, too.
    const account = ["--account", `a${randomBytes(8).toString("hex")}`];
    const first = await runSpawned(["bootstrap", "--again", ...common, ...account], { cwd });
    const { token } = JSON.parse(first.text) as { readonly token: string };
    const elsewhere = where === "worker" ? ["--executor", "none", "--storage-port", "0"] : [];
    const server = start(["serve", ...common, "--port", "0", ...elsewhere]);
    const [, url = ""] = await server.waitFor(/The server is at (http:\S+)/);
    if (where === "worker") {
      const worker = start(["worker", "--server", url], { STACKWRIGHT_TOKEN: token });
      await worker.waitFor(/claims steps/);
    }
    return { url, token, cwd };
  };

  it.for([
    ["by the server", "server"],
    ["by a worker elsewhere", "worker"],
  ] as const)("end alike %s, whichever way they are asked for", async ([, where], context) => {
    if (store === undefined) return context.skip(true, `the environment names no ${name}`);
    const place = await startPlace(store, where);
    const client = createServerClient({ server: place.url, token: place.token });
    for (const [way, run] of WAYS) {
      const id = await run(place, way);
      const reference = { project: PROJECT, stack: way, run: id };
      const events: RunLogEvent[] = [];
      for await (const event of client.followRun(reference)) events.push(event);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const phases = events.filter(({ type }) => type === "phase-change");
      expect(phases.map((event) => event["to"])).toEqual(PHASES);
      const state = await client.showState({ project: PROJECT, stack: way });
      expect(state.data.resources.map(({ address }) => address)).toEqual([
        "terraform_data.a[0]",
        "terraform_data.a[1]",
      ]);
      const shown = { name: "word", sensitive: false };
      expect(state.data.outputs).toEqual([expect.objectContaining(shown)]);
      expect(JSON.stringify(state.data.outputs)).toContain(`${way}-0`);
    }
  });
});
