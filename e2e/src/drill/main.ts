import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { requireCommand } from "@stackwright-tools/processes";
import { installation } from "../installation/installation.ts";
import { Scratch } from "../testing/scratch.ts";
import { Fleet, type Member, type ServerPlace } from "../upgrade/fleet.ts";

// A restore drill: a server on PostgreSQL under load, a backup meanwhile, the loss of server and database, and the restore into stores of
// other engines, each with a server that applies a run. It measures what an operator wants to know: how long nothing can be applied, and
// what is lost.

const HELP = `usage: node tools/servers/src/main.ts exec --servers postgres,etcd --tools none -- node e2e/src/drill/main.ts [OPTIONS]

  --stacks N      stacks that the store has (40)
  --resources N   resources of each (50)
  --clients N     runs that are requested and applied at the same time, all the time (2)
  --seconds N     from the end of the backup to the loss (20)
`;

const POLL_MS = 50;

interface Applied {
  readonly run: string;
  readonly atMs: number;
}

interface Restored {
  readonly engine: string;
  readonly restoreMs: number;
  readonly verifyMs: number;
  readonly toAppliedMs: number;
  readonly lostRuns: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      stacks: { type: "string", default: "40" },
      resources: { type: "string", default: "50" },
      clients: { type: "string", default: "2" },
      seconds: { type: "string", default: "20" },
      help: { type: "boolean", default: false },
    },
  });
  const numbers = [values.stacks, values.resources, values.clients, values.seconds].map(Number);
  const { TEST_POSTGRES_URL: postgres, TEST_ETCD_ENDPOINTS: etcd } = process.env;
  if (values.help || postgres === undefined || numbers.some((one) => !(one > 0))) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  const [stacks = 0, resources = 0, clients = 0, seconds = 0] = numbers;
  await using scratch = await Scratch.make();
  await using database = await makeDatabase(postgres);
  const command = installation().command;
  const fleet = new Fleet(scratch, database.url);
  await fleet.begin(command);
  const [first, ...places] = await fleet.places(3);
  if (first === undefined) throw new Error("no port is free");
  await using server = killed(await fleet.server(command, first, ["--executor", "in-process"]));

  const names = Array.from({ length: stacks }, (_, index) => `stack-${index}`);
  for (const name of names) await fleet.call(first, "/stacks", { name });
  const fillMs = performance.now();
  const filled = await applyAll(fleet, first, names, { resources, version: 0, clients });
  say(`${filled.length} stacks of ${resources} resources, applied in ${since(fillMs)} s`);

  const stop = new AbortController();
  const load = keepApplying(fleet, first, names, { resources, clients, signal: stop.signal });
  await pause(2_000);
  const backup = join(scratch.folder, "backup");
  const began = Date.now();
  const backupMs = performance.now();
  const made = await fleet.run(command, ["store", "backup", backup, "--store", database.url]);
  if (made.code !== 0) throw new Error(`no backup: ${made.output}${made.error}`);
  const backedUp = since(backupMs);
  await pause(seconds * 1_000);
  // The loss: whatever was acknowledged until now is what users believe in.
  stop.abort();
  server.kill();
  const lostAtMs = Date.now();
  await database.drop();
  const applied = await load;
  say(
    `load: ${(applied.length / ((lostAtMs - began) / 1_000 + 2)).toFixed(1)} applied runs a second`,
  );

  const targets: (readonly [string, string])[] = [
    ["sqlite", `sqlite:${join(scratch.folder, "restored")}`],
  ];
  if (etcd !== undefined) targets.push(["etcd", `etcd://${new URL(etcd).host}/${randomUUID()}`]);
  const all = [...filled, ...applied];
  const results: Restored[] = [];
  for (const [index, [engine, store]] of targets.entries()) {
    const place = places[index];
    if (place === undefined) throw new Error("no port is free");
    results.push(await restore(fleet, { engine, store, backup, place, all, resources }));
  }
  const newest = Math.max(...applied.map(({ atMs }) => atMs));
  say(
    `backup: ${backedUp} s under load; ${((lostAtMs - began) / 1_000).toFixed(1)} s from its begin to the loss; the newest applied run was ${((lostAtMs - newest) / 1_000).toFixed(1)} s old`,
  );
  say(
    "| engine | restore | verify | from the restore to an applied run | applied runs that are lost |",
  );
  say("| --- | --- | --- | --- | --- |");
  for (const { engine, restoreMs, verifyMs, toAppliedMs, lostRuns } of results) {
    const [a, b, c] = [restoreMs, verifyMs, toAppliedMs].map(
      (ms) => `${(ms / 1_000).toFixed(1)} s`,
    );
    say(`| ${engine} | ${a} | ${b} | ${c} | ${lostRuns} of ${all.length} |`);
  }
  return 0;
}

/** Restores into another engine. Its times begin with the restore: each is the first target by itself, and nobody had to notice the loss. */
async function restore(
  fleet: Fleet,
  {
    engine,
    store,
    backup,
    place,
    all,
    resources,
  }: {
    readonly engine: string;
    readonly store: string;
    readonly backup: string;
    readonly place: ServerPlace;
    readonly all: readonly Applied[];
    readonly resources: number;
  },
): Promise<Restored> {
  const command = installation().command;
  const began = performance.now();
  const restored = await fleet.run(command, ["store", "restore", backup, "--store", store]);
  if (restored.code !== 0) throw new Error(`${engine}: ${restored.output}${restored.error}`);
  const restoreMs = performance.now() - began;
  const verified = await fleet.run(command, ["store", "verify", "--store", store]);
  if (verified.code !== 0) throw new Error(`${engine}: ${verified.output}${verified.error}`);
  const verifyMs = performance.now() - began - restoreMs;
  const thawed = await fleet.run(command, ["admin", "thaw", "--store", store]);
  if (thawed.code !== 0) throw new Error(`${engine}: ${thawed.output}${thawed.error}`);
  const next = fleet.on(store);
  await using _server = killed(await next.server(command, place, ["--executor", "in-process"]));
  await applyAll(next, place, ["stack-0"], { resources, version: -1, clients: 1 });
  const toAppliedMs = performance.now() - began;
  let lostRuns = 0;
  for (const { run } of all) {
    const phase = await next.call(place, run).then(
      ({ phase: shown }) => shown,
      () => undefined,
    );
    if (phase !== "applied") lostRuns += 1;
  }
  return { engine, restoreMs, verifyMs, toAppliedMs, lostRuns };
}

/** Applies one version of some stacks, several at the same time. */
async function applyAll(
  fleet: Fleet,
  place: ServerPlace,
  names: readonly string[],
  {
    resources,
    version,
    clients,
  }: { readonly resources: number; readonly version: number; readonly clients: number },
): Promise<Applied[]> {
  const left = [...names];
  const applied: Applied[] = [];
  const one = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const run = await fleet.request(place, name, configurationOf(resources, version));
      await fleet.reaches(place, run, /^applied$/);
      applied.push({ run, atMs: Date.now() });
    }
  };
  await Promise.all(Array.from({ length: clients }, one));
  return applied;
}

/** Applies version after version until the loss; gives what was seen as applied. */
async function keepApplying(
  fleet: Fleet,
  place: ServerPlace,
  names: readonly string[],
  {
    resources,
    clients,
    signal,
  }: { readonly resources: number; readonly clients: number; readonly signal: AbortSignal },
): Promise<readonly Applied[]> {
  const applied: Applied[] = [];
  const one = async (client: number): Promise<void> => {
    for (let version = 1; !signal.aborted; version += 1) {
      const name = names[(version * clients + client) % names.length] ?? "";
      try {
        const run = await fleet.request(place, name, configurationOf(resources, version));
        for (;;) {
          const { phase } = await fleet.call(place, run);
          if (phase === "applied") break;
          if (signal.aborted) return;
          await pause(POLL_MS);
        }
        applied.push({ run, atMs: Date.now() });
      } catch (error) {
        // The server is gone: what was not seen as applied was not promised.
        if (!signal.aborted) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, async (_, client) => one(client)));
  return applied;
}

function configurationOf(resources: number, version: number): string {
  return `resource "terraform_data" "a" {\n  count = ${resources}\n  input = "${version}.\${count.index}"\n}\n`;
}

/** A server that is killed at the end, if not before. */
function killed({ process: child }: Member): AsyncDisposable & { kill(): void } {
  const kill = (): void => child.signal("SIGKILL");
  return {
    kill,
    [Symbol.asyncDispose]: async () => {
      kill();
      await child.end();
    },
  };
}

async function makeDatabase(server: string) {
  const name = `drill_${randomUUID().replaceAll("-", "_")}`;
  const bin = process.env["TEST_POSTGRES_BIN"] ?? "";
  const words = [`--maintenance-db=${server}`, name];
  await requireCommand([join(bin, "createdb"), ...words]);
  const url = new URL(server);
  url.pathname = name;
  let isThere = true;
  const drop = async (): Promise<void> => {
    if (!isThere) return;
    isThere = false;
    await requireCommand([join(bin, "dropdb"), "--force", ...words]);
  };
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function since(startMs: number): string {
  return ((performance.now() - startMs) / 1_000).toFixed(1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
