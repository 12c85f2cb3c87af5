import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { Semaphore } from "@stackwright/base/limiter";
import { createServerClient, type ServerClient } from "@stackwright/client";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { archiveOf, instances } from "./archive.ts";
import { printFigures, quantile } from "./figures.ts";
import { executorsBelow, startServer, startWorker } from "./processes.ts";
import { PeakMemory, processorMsAtRest, processorMsOf } from "./usage.ts";

const project = "default";
/** Configurations that the server takes of one account at the same time. */
const UPLOADS = 4;
const ENDED = /^(?:applied|partially_applied|failed|canceled|no_changes)$/;

/** Runs of 20 resources, planned and applied by 1, 2 and 4 remote workers, each with one step at a time. */
export async function benchRuns(name: string, store: string, runsPerWorker: number): Promise<void> {
  const rows = [
    ["workers", "runs", "per minute", "of one", "queue p50 ms", "queue p99 ms", "MiB per run"],
  ];
  let one = 0;
  for (const workers of [1, 2, 4]) {
    await using server = await startServer(store, "none");
    await using stack = new AsyncDisposableStack();
    const pids: number[] = [];
    for (let index = 0; index < workers; index += 1) {
      pids.push(stack.use(await startWorker(server, `w${index}`)).pid);
    }
    const client = createServerClient({ server: server.url, token: server.token });
    const runs = runsPerWorker * workers;
    const started = Date.now();
    const uploads = new Semaphore(UPLOADS);
    const requested = await Promise.all(
      Array.from({ length: runs }, (_, index) =>
        uploads.run(() => request(client, `s${index}`, 20)),
      ),
    );
    const samples: number[] = [];
    const timer = setInterval(() => {
      const { count, mib } = executorsBelow(pids);
      if (count > 0) samples.push(mib / count);
    }, 500);
    const waits: number[] = [];
    let last = started;
    for (const place of requested) {
      const { waitMs, endedAt } = await follow(client, place);
      waits.push(waitMs);
      last = Math.max(last, endedAt);
    }
    clearInterval(timer);
    const perMinute = runs / ((last - started) / 60_000);
    if (workers === 1) one = perMinute;
    else {
      recordFigure({
        name: `${name}: time per run of 20 resources, planned and applied`,
        unit: "ms",
        size: workers,
        of: "workers",
        ours: spreadOf(`${workers} workers`, [60_000 / perMinute]),
        baseline: spreadOf("1 worker", [60_000 / one]),
      });
    }
    rows.push([
      String(workers),
      String(runs),
      perMinute.toFixed(1),
      `${(perMinute / one).toFixed(2)}x`,
      quantile(waits, 0.5).toFixed(0),
      quantile(waits, 0.99).toFixed(0),
      quantile(samples, 0.5).toFixed(0),
    ]);
  }
  printFigures(`${name}, runs of 20 resources, planned and applied`, rows);
}

/** The same configuration by a run of a server and by the command, in turns, each on SQLite. */
export async function benchOverhead(rounds: number): Promise<void> {
  await using server = await startServer("sqlite", "child");
  const client = createServerClient({ server: server.url, token: server.token });
  const byServer: Sample[] = [];
  const byCommand: Sample[] = [];
  // The first round is not counted: code is compiled in it.
  for (let round = -1; round < rounds; round += 1) {
    const before = processorMsOf(server.pid);
    const started = Date.now();
    const { endedAt } = await follow(client, await request(client, `o${round + 1}`, 100));
    // Executors that are loaded for the next run cost this one processor time, and the command none.
    const processorMs = (await processorMsAtRest(server.pid)) - before;
    const ofServer = { ms: endedAt - started, processorMs };
    const ofCommand = await applyByCommand(100);
    if (round < 0) continue;
    byServer.push(ofServer);
    byCommand.push(ofCommand);
  }
  const kinds = [
    ["a run, queued to applied", ({ ms }: Sample) => ms, 1.2],
    ["a run, processor time", ({ processorMs }: Sample) => processorMs, undefined],
  ] as const;
  for (const [name, pick, target] of kinds) {
    compareWithCommand(
      `server: ${name}`,
      100,
      "resources",
      byServer.map(pick),
      byCommand.map(pick),
      {
        title: `${name}: 100 resources, ${rounds} rounds`,
        target,
      },
    );
  }
}

/** Runs that are requested at once, and commands that are started at once: time for each, processor time, most memory. */
export async function benchConcurrency(rounds: number, count = 10, size = 200): Promise<void> {
  const samples = { server: [] as Burst[], command: [] as Burst[] };
  for (let round = 0; round < rounds; round += 1) {
    samples.server.push(await burstOfServer(count, size));
    samples.command.push(await burstOfCommands(count, size));
  }
  const kinds = [
    ["time for each run", "ms", ({ ms }: Burst) => ms / count],
    ["processor time for each run", "ms", ({ processorMs }: Burst) => processorMs / count],
    ["memory", "MiB", ({ mib }: Burst) => mib],
  ] as const;
  for (const [name, unit, pick] of kinds) {
    const [ours, baseline] = [samples.server.map(pick), samples.command.map(pick)];
    compareWithCommand(
      `server: ${count} runs of ${size} resources at once, ${name}`,
      count,
      "runs",
      ours,
      baseline,
      {
        title: `${count} runs of ${size} resources at once, ${name}, ${rounds} rounds`,
        unit,
      },
    );
  }
}

interface Sample {
  readonly ms: number;
  readonly processorMs: number;
}

interface Burst extends Sample {
  /** Most memory of all processes together. */
  readonly mib: number;
}

async function burstOfServer(count: number, size: number): Promise<Burst> {
  await using server = await startServer("sqlite", "child", availableParallelism());
  const client = createServerClient({ server: server.url, token: server.token });
  const uploads = new Semaphore(UPLOADS);
  using memory = new PeakMemory(() => [server.pid]);
  const before = processorMsOf(server.pid);
  const started = Date.now();
  const ends = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const place = await uploads.run(() => request(client, `c${index}`, size));
      return (await follow(client, place)).endedAt;
    }),
  );
  return {
    ms: Math.max(...ends) - started,
    processorMs: processorMsOf(server.pid) - before,
    mib: memory.mib,
  };
}

async function burstOfCommands(count: number, size: number): Promise<Burst> {
  const pids: number[] = [];
  using memory = new PeakMemory(() => pids);
  const started = performance.now();
  const samples = await Promise.all(
    Array.from({ length: count }, async () => applyByCommand(size, (pid) => pids.push(pid))),
  );
  return {
    ms: performance.now() - started,
    processorMs: samples.reduce((sum, { processorMs }) => sum + processorMs, 0),
    mib: memory.mib,
  };
}

/** `apply -auto-approve` of instances in a folder of its own. */
async function applyByCommand(
  count: number,
  onStart: (pid: number) => void = () => undefined,
): Promise<Sample> {
  const command = join(import.meta.dirname, "../../apps/cli/src/main.ts");
  const usage = join(import.meta.dirname, "print-usage.ts");
  const folder = await mkdtemp(join(tmpdir(), "bench-command-"));
  try {
    await writeFile(join(folder, "main.tf"), instances(count, 1));
    const before = performance.now();
    const child = spawn(process.execPath, ["--import", usage, command, "apply", "-auto-approve"], {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, NO_COLOR: "1" },
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    });
    if (child.pid !== undefined) onStart(child.pid);
    const [code, text] = await Promise.all([
      new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", resolve);
      }),
      textOf(child.stdio[3] as Readable),
    ]);
    if (code !== 0) throw new Error(`the command ended with ${code}`);
    return { ms: performance.now() - before, processorMs: Number(text) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Records and prints what a server and the command took for the same. */
function compareWithCommand(
  name: string,
  size: number,
  of: string,
  byServer: readonly number[],
  byCommand: readonly number[],
  {
    title,
    unit = "ms",
    target,
  }: { readonly title: string; readonly unit?: string; readonly target?: number | undefined },
): void {
  recordFigure({
    name,
    unit,
    size,
    of,
    ours: spreadOf("server", byServer),
    baseline: spreadOf("command", byCommand),
    ...(target !== undefined && { target }),
  });
  const base = quantile(byCommand, 0.5);
  printFigures(title, [
    ["by", `median ${unit}`, "lowest - highest", "of the command"],
    ...(
      [
        ["command", byCommand],
        ["server", byServer],
      ] as const
    ).map(([by, values]) => [
      by,
      quantile(values, 0.5).toFixed(0),
      `${Math.min(...values).toFixed(0)} - ${Math.max(...values).toFixed(0)}`,
      `${(quantile(values, 0.5) / base).toFixed(2)}x`,
    ]),
  ]);
}

interface RunPlace {
  readonly project: string;
  readonly stack: string;
  readonly run: string;
}

async function request(client: ServerClient, stack: string, count: number): Promise<RunPlace> {
  await client.createStack({ project, body: { name: stack } });
  const body = archiveOf(instances(count, 1));
  const { digest } = (await client.createConfiguration({ project, stack, body })).data;
  const wanted = { configuration: digest, auto_apply: true };
  const { data } = await client.createRun({ project, stack, body: wanted });
  return { project, stack, run: data.id };
}

/** Follows a run to its end: when that was, and how long it waited for its first worker. */
async function follow(
  client: ServerClient,
  place: RunPlace,
): Promise<{ readonly endedAt: number; readonly waitMs: number }> {
  let queuedAt = 0;
  let preparedAt = 0;
  let endedAt = 0;
  for await (const { type, at, ...event } of client.followRun(place)) {
    if (type === "phase-change" && event["to"] === "queued") queuedAt = at;
    if (type === "phase-change" && event["to"] === "preparing") preparedAt = at;
    if (type === "end") endedAt = at;
  }
  const { phase } = (await client.showRun(place)).data;
  if (!ENDED.test(phase) || phase === "failed") throw new Error(`a run ended as ${phase}`);
  return { endedAt, waitMs: preparedAt - queuedAt };
}
