import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Semaphore } from "@stackwright/base/limiter";
import { createServerClient, type ServerClient } from "@stackwright/client";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { archiveOf, instances } from "./archive.ts";
import { printFigures, quantile } from "./figures.ts";
import { executorsBelow, startServer, startWorker } from "./processes.ts";

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
  const command = join(import.meta.dirname, "../../apps/cli/src/main.ts");
  const byServer: number[] = [];
  const byCommand: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = Date.now();
    const { endedAt } = await follow(client, await request(client, `o${round}`, 100));
    byServer.push(endedAt - started);
    const folder = await mkdtemp(join(tmpdir(), "bench-command-"));
    try {
      await writeFile(join(folder, "main.tf"), instances(100, 1));
      const before = performance.now();
      execFileSync(process.execPath, [command, "apply", "-auto-approve"], {
        cwd: folder,
        env: { PATH: process.env["PATH"], HOME: folder, NO_COLOR: "1" },
        stdio: ["ignore", "ignore", "inherit"],
      });
      byCommand.push(performance.now() - before);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  recordFigure({
    name: "server: a run, queued to applied",
    unit: "ms",
    size: 100,
    of: "resources",
    ours: spreadOf("server", byServer),
    baseline: spreadOf("command", byCommand),
    target: 1.2,
  });
  const base = quantile(byCommand, 0.5);
  printFigures(`A run of 100 resources, ${rounds} rounds`, [
    ["by", "median ms", "lowest - highest", "of the command"],
    ...(
      [
        ["command", byCommand],
        ["server", byServer],
      ] as const
    ).map(([by, times]) => [
      by,
      quantile(times, 0.5).toFixed(0),
      `${Math.min(...times).toFixed(0)} - ${Math.max(...times).toFixed(0)}`,
      `${(quantile(times, 0.5) / base).toFixed(2)}x`,
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
