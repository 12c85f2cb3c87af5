import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient, type ServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { checkRunHistory, type ObservedRun } from "./testing/run-history.ts";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess, type WorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Two servers with workers of their own and a remote worker on one PostgreSQL, under load, while processes are killed. More with
// STACKWRIGHT_RUNS=10, which multiplies stacks and faults.

const MAIN = join(import.meta.dirname, "main.ts");
const SCALE = Math.max(1, Math.round(Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const STACKS = 4 * SCALE;
const RUNS_OF_STACK = 3;
const FAULTS = 3 * SCALE;
const PROJECT = "default";

const configuration = (version: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    gzipSync(
      tarOf({
        "main.tf": `resource "terraform_data" "all" {\n  count = 5\n  input = "${version}"\n}\n`,
      }),
    ),
  );

it("every run ends, in the order of its queue, with one writer per stack and epoch", {
  timeout: 300_000 + SCALE * 120_000,
}, async (context) => {
  const store = process.env["TEST_POSTGRES_URL"];
  context.skip(store === undefined, "TEST_POSTGRES_URL names no server");
  const scratch = await mkdtempDisposable(join(tmpdir(), "runs-soak-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
  const key = ["--key-file", "key"];
  const account = `a${randomBytes(8).toString("hex")}`;
  const args = ["bootstrap", "--again", "--store", store ?? "", ...key, "--account", account];
  const { token } = JSON.parse(
    execFileSync(process.execPath, [MAIN, ...args], { cwd, encoding: "utf8" }),
  ) as { readonly token: string };

  const server = async (name: string): Promise<ServerProcess> =>
    startServerProcess(
      MAIN,
      ["--store", store ?? "", ...key, "--storage-port", "0", "--run-directory", name],
      { cwd },
    );
  const worker = async ({ url }: ServerProcess): Promise<WorkerProcess> =>
    startWorkerProcess(MAIN, ["--server", url, "--directory", "elsewhere", "--capacity", "2"], {
      cwd,
      env: { STACKWRIGHT_TOKEN: token },
    });
  // The first server lives: its address stays, and the remote worker is connected to it.
  const first = await server("first");
  let second = await server("second");
  let remote = await worker(first);
  const client = createServerClient({ server: first.url, token });

  const requested = await requestAll(client);
  const kills: string[] = [];
  const random = randomOf(7);
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000 + random() * 3_000));
    const isRemote = fault % 2 === 0;
    kills.push(isRemote ? "remote worker" : "server");
    if (isRemote) {
      remote.child.kill("SIGKILL");
      remote = await worker(first);
    } else {
      second.child.kill("SIGKILL");
      second = await server("second");
    }
  }

  const observed: ObservedRun[] = [];
  for (const { stack, run } of requested) {
    const place = { project: PROJECT, stack, run };
    const ended = async (): Promise<boolean> => ENDS.has((await client.showRun(place)).data.phase);
    await expect.poll(ended, { timeout: 240_000 + SCALE * 60_000, interval: 500 }).toBe(true);
    const events = [];
    for await (const event of client.followRun(place)) events.push(event);
    observed.push({ ...(await client.showRun(place)).data, stack, events });
  }
  expect(kills).toHaveLength(FAULTS);
  expect(checkRunHistory(observed)).toEqual([]);
  const phases = Object.groupBy(observed, ({ phase }) => phase);
  const counts = Object.fromEntries(
    Object.entries(phases).map(([phase, runs]) => [phase, runs?.length ?? 0]),
  );
  process.stdout.write(
    `soak of runs: ${JSON.stringify({ stacks: STACKS, runs: observed.length, kills: kills.length, ...counts })}\n`,
  );
  // Faults may interrupt runs, and none is lost by them.
  expect((counts["applied"] ?? 0) + (counts["no_changes"] ?? 0)).toBeGreaterThan(0);
});

const ENDS = new Set<string>([
  "applied",
  "no_changes",
  "partially_applied",
  "failed",
  "canceled",
  "superseded",
]);

/** Requests runs of all stacks, each with another configuration than the one before. */
async function requestAll(
  client: ServerClient,
): Promise<readonly { readonly stack: string; readonly run: string }[]> {
  const requested: { stack: string; run: string }[] = [];
  for (let index = 0; index < STACKS; index += 1) {
    const stack = `stack-${index}`;
    const place = { project: PROJECT, stack };
    await client.createStack({ project: PROJECT, body: { name: stack } });
    for (let version = 0; version < RUNS_OF_STACK; version += 1) {
      const { digest } = (
        await client.createConfiguration({ ...place, body: configuration(version) })
      ).data;
      const body = { configuration: digest, auto_apply: true };
      requested.push({ stack, run: (await client.createRun({ ...place, body })).data.id });
    }
  }
  return requested;
}

/** Numbers in [0, 1) that are the same each time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
