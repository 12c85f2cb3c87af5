import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { createServerClient, isClientError, type ServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startCutProxy } from "./testing/cut-proxy.ts";
import { startEtcdPlace, startPostgresPlace } from "./testing/cut-store.ts";
import { checkRunHistory, type ObservedRun } from "./testing/run-history.ts";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess, type WorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Three servers on one PostgreSQL or etcd, two of them with workers of their own, and two remote workers that know two servers, under load,
// while processes are killed, stopped for longer than a lease, and cut off, members of the cluster too. Objects are files of the provider:
// its own record.
//
// STACKWRIGHT_RUNS=100 multiplies stacks and faults: 200 stacks, 2,000 runs of 20 resources with SOAK_RUNS=9 and SOAK_RESOURCES=20.
// SOAK_PROGRAM names the command to use, as the published one, in place of the engine's source.

const MAIN = process.env["SOAK_PROGRAM"] ?? join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const SCALE = Math.max(1, Math.round(Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const STACKS = 2 * SCALE;
const RUNS_OF_STACK = Number(process.env["SOAK_RUNS"] ?? 2);
const RESOURCES = Number(process.env["SOAK_RESOURCES"] ?? 5);
const PROJECT = "default";
/** Longer than a lease. */
const OVER_LEASE_MS = 18_000;
/** Of each kind, for two stacks. */
const FAULTS_OF_SCALE = 0.4;
/** How often a process is started until it has to run: one that ends has waited for its store before. */
const STARTS = 10;
/** A fault comes after so long, though no run ends: the one before may be what holds them up. */
const LONGEST_PAUSE_MS = 60_000;

it.for([
  { name: "PostgreSQL", start: startPostgresPlace, missing: "TEST_POSTGRES_URL names no server" },
  { name: "etcd", start: startEtcdPlace, missing: "TEST_ETCD_BIN names no program" },
])(
  "every run on $name ends once, in the order of its queue, with one writer per stack and epoch",
  {
    retry: 0,
    timeout: 300_000 + SCALE * 180_000,
  },
  async ({ name: kind, start, missing }, context) => {
    context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    const place = await start();
    if (place === undefined) {
      context.skip(missing);
      return;
    }
    onTestFinished(async () => place[Symbol.asyncDispose]());
    const { store } = place;
    const cwd = await mkdtemp(join(tmpdir(), "runs-soak-"));
    // Executors of a server that was killed end by themselves, and keep their compiled code meanwhile.
    const retries = { maxRetries: 100, retryDelay: 100 };
    onTestFinished(async () => rm(cwd, { recursive: true, force: true, ...retries }));
    const lab = join(cwd, "lab");
    await mkdir(lab);
    const rc = join(cwd, "rc");
    const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
    await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
    await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
    const key = ["--key-file", "key"];
    const account = `a${randomBytes(8).toString("hex")}`;
    const args = ["bootstrap", "--again", "--store", store, ...key, "--account", account];
    const { token } = JSON.parse(
      execFileSync(process.execPath, [MAIN, ...args], { cwd, encoding: "utf8" }),
    ) as { readonly token: string };

    const env = { TF_CLI_CONFIG_FILE: rc };
    const server = async (
      name: string,
      at = store,
      more: readonly string[] = ["--run-capacity", "1"],
    ): Promise<ServerProcess> =>
      startServerProcess(
        MAIN,
        ["--store", at, ...key, "--storage-port", "0", "--run-directory", name, ...more],
        { cwd, env },
      );
    // The first server lives and executes nothing: its address stays.
    const first = await server("first", store, ["--executor", "none"]);
    let second = await server("second");
    // The third one reaches the database by a way that is cut at times.
    const third = await server("third", place.cutStore);
    const worker = async (servers: readonly { readonly url: string }[]): Promise<WorkerProcess> =>
      startWorkerProcess(
        MAIN,
        [
          "--server",
          servers.map(({ url }) => url).join(","),
          "--directory",
          "elsewhere",
          "--capacity",
          "1",
        ],
        { cwd, env: { ...env, STACKWRIGHT_TOKEN: token } },
      );
    let remote = await worker([third, first]);
    // The other one reaches its servers by ways that are cut at times.
    const ways = await Promise.all(
      [first, third].map(async ({ url }) => {
        const { hostname: host, port } = new URL(url);
        return startCutProxy({ host, port: Number(port) });
      }),
    );
    for (const way of ways) onTestFinished(async () => way[Symbol.asyncDispose]());
    const other = await worker(ways.map(({ port }) => ({ url: `http://127.0.0.1:${port}` })));
    const client = createServerClient({ server: first.url, token });

    const requested: Requested[] = [];
    await requestAll(client, lab, 0, requested);
    const faults: Readonly<Record<string, () => Promise<void>>> = {
      "kill a remote worker": async () => {
        remote.child.kill("SIGKILL");
        remote = await insist(async () => worker([third, first]));
      },
      "kill a server": async () => {
        second.child.kill("SIGKILL");
        second = await insist(async () => server("second"));
      },
      "stop a remote worker": async () => {
        other.child.kill("SIGSTOP");
        await delay(OVER_LEASE_MS);
        other.child.kill("SIGCONT");
      },
      "cut a server off its store": async () => place.cut(OVER_LEASE_MS),
      "cut a remote worker off its servers": async () => {
        await Promise.all(ways.map(async (way) => way.cut(OVER_LEASE_MS)));
      },
      ...place.faults,
    };
    const names = [
      "stop a remote worker",
      "cut a server off its store",
      "cut a remote worker off its servers",
      ...Object.keys(place.faults),
      "kill a server",
      "kill a remote worker",
    ];
    const faultCount = names.length * Math.ceil(SCALE * FAULTS_OF_SCALE);
    const runsOfFault = requested.length / faultCount;
    const random = randomOf(7);
    // Faults come as runs end, so that they last as long as the load. Those of one kind follow one another, those of several overlap.
    const running = new Map<string, Promise<void>>();
    for (let index = 0; index < faultCount; index += 1) {
      await waitForRuns(first, index * runsOfFault);
      await delay(500 + random() * 3_000);
      const name = names[index % names.length] ?? "";
      await running.get(name);
      running.set(name, faults[name]?.() ?? Promise.resolve());
    }
    await Promise.all(running.values());
    // One run of each stack after the last fault: it finishes what the others left.
    await requestAll(client, lab, RUNS_OF_STACK, requested);

    const observed: ObservedRun[] = [];
    for (const { stack, run } of requested) {
      const path = { project: PROJECT, stack, run };
      const ended = async (): Promise<boolean> => {
        try {
          return ENDS.has((await client.showRun(path)).data.phase);
        } catch (error) {
          if (isClientError(error) && error.retryable) return false;
          throw error;
        }
      };
      await expect.poll(ended, { timeout: 240_000 + SCALE * 120_000, interval: 500 }).toBe(true);
      const events = [];
      for await (const event of client.followRun(path)) events.push(event);
      observed.push({ ...(await client.showRun(path)).data, stack, events });
    }
    expect(checkRunHistory(observed)).toEqual([]);
    const phases = Object.groupBy(observed, ({ phase }) => phase);
    const counts = Object.fromEntries(
      Object.entries(phases).map(([phase, runs]) => [phase, runs?.length ?? 0]),
    );
    process.stdout.write(
      `soak of runs: ${JSON.stringify({ store: kind, stacks: STACKS, runs: observed.length, resources: RESOURCES, faults: faultCount, ...counts })}\n`,
    );
    // What exists is what the last runs declare, each object once: nothing was created twice, and nothing is orphaned.
    const last = new Map(observed.map(({ stack, phase }) => [stack, phase]));
    expect([...last.values()].filter((phase) => !/^(?:applied|no_changes)$/.test(phase))).toEqual(
      [],
    );
    // A create whose answer a kill took may have happened or not: an operator decides, and until then nothing creates it again.
    const unresolved = new Set(observed.flatMap(unresolvedNames));
    const objects = (await objectsOf(lab)).toSorted();
    const expected = [...last.keys()].flatMap((stack) =>
      Array.from({ length: RESOURCES }, (_, index) => `${stack}.${index}`),
    );
    const certain = (name: string): boolean => !unresolved.has(name);
    expect(objects.filter(certain)).toEqual(expected.filter(certain).toSorted());
    expect(objects.filter((name, index) => objects[index - 1] === name)).toEqual([]);
  },
);

/** Starts a process again where it ended, as what runs servers does: without a store none starts. */
async function insist<T>(start: () => Promise<T>): Promise<T> {
  for (let left = STARTS; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (left === 1) throw error;
      await delay(1_000);
    }
  }
}

const ENDS = new Set<string>([
  "applied",
  "no_changes",
  "partially_applied",
  "failed",
  "canceled",
  "superseded",
]);

/** Waits until so many runs have ended, by what a server counts, or for the longest pause. */
async function waitForRuns({ url }: ServerProcess, count: number): Promise<void> {
  const until = Date.now() + LONGEST_PAUSE_MS;
  while (Date.now() < until) {
    const text = await (await fetch(new URL("/metrics", url))).text();
    const counted = [...text.matchAll(/^stackwright_runs\{phase="(\w+)"[^}]*\} (\d+)$/gm)];
    const ended = counted.filter(([, phase = ""]) => ENDS.has(phase));
    if (ended.reduce((sum, [, , runs]) => sum + Number(runs), 0) >= count) return;
    await delay(1_000);
  }
}

interface Requested {
  readonly stack: string;
  readonly run: string;
}

/** Requests runs of all stacks from a version on, each with another configuration than the one before. */
async function requestAll(
  client: ServerClient,
  lab: string,
  from: number,
  requested: Requested[],
): Promise<void> {
  for (let index = 0; index < STACKS; index += 1) {
    const stack = `stack-${index}`;
    const place = { project: PROJECT, stack };
    if (from === 0) await client.createStack({ project: PROJECT, body: { name: stack } });
    const count = from === 0 ? RUNS_OF_STACK : 1;
    for (let version = from; version < from + count; version += 1) {
      const body = configuration(lab, stack, version);
      const { digest } = (await client.createConfiguration({ ...place, body })).data;
      const wanted = { configuration: digest, auto_apply: true };
      requested.push({ stack, run: (await client.createRun({ ...place, body: wanted })).data.id });
    }
  }
}

function configuration(lab: string, stack: string, version: number): Uint8Array<ArrayBuffer> {
  const text = `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
resource "lab_object" "all" {
  count = ${RESOURCES}
  name  = "${stack}.\${count.index}"
  tags  = { version = "${version}" }
}
`;
  return Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
}

/** Names of the objects of which a run says that it does not know whether they exist. */
function unresolvedNames({ stack, events }: ObservedRun): string[] {
  return events.flatMap(({ type, code, address }) => {
    if (type !== "diagnostic" || code !== "ENGINE_UNRESOLVED") return [];
    const index = /^lab_object\.all\[(\d+)\]$/.exec(String(address))?.[1];
    return index === undefined ? [] : [`${stack}.${index}`];
  });
}

/** Names of the objects that exist, by the provider's own files. */
async function objectsOf(lab: string): Promise<string[]> {
  const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
  return Promise.all(
    files.map(async (file) => {
      const { name } = JSON.parse(await readFile(join(lab, file), "utf8")) as { name: string };
      return name;
    }),
  );
}

/** Numbers in [0, 1) that are the same each time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
