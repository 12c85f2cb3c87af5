import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FIGURES_FILE, type Figure, readFigures } from "@stackwright-bench/figures";
import { regressions } from "./src/compare.ts";
import { curvesOf } from "./src/curves.ts";
import { JOBS, type Job } from "./src/jobs.ts";
import { plotName, type Recorded, type RecordedJob, renderPage } from "./src/page.ts";
import { plot } from "./src/plot.ts";

const HELP = `usage: node bench/all/run.ts [--only NAME,...] [--record | --compare]

Runs the benchmarks of all packages, one after the other; the command has to be built (pnpm build).

  --record     writes docs/benchmarks.md, its plots, and docs/benchmarks/figures.json. With --only the other
               benchmarks keep what is recorded of them
  --compare    runs the short form of those that have one, and names the figures whose ratio to their baseline
               is worse than recorded by more than noise; ends with 1 where there is one

Benchmarks:
${JOBS.map(({ name, what }) => `  ${name.padEnd(15)} ${what}`).join("\n")}
`;

const root = join(import.meta.dirname, "../..");
const folder = join(root, "docs/benchmarks");
const record = join(folder, "figures.json");

const { values } = parseArgs({
  // The soak names a seed, which measuring has no use for.
  allowPositionals: true,
  options: {
    only: { type: "string" },
    record: { type: "boolean", default: false },
    compare: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
const only = values.only?.split(",");
const unknown = only?.find((name) => JOBS.every((job) => job.name !== name));
if (values.help) process.stdout.write(HELP);
else if (unknown !== undefined || (values.record && values.compare)) {
  process.stderr.write(unknown === undefined ? HELP : `there is no benchmark ${unknown}\n${HELP}`);
  process.exitCode = 2;
} else process.exitCode = await runAll();

async function runAll(): Promise<number> {
  const jobs = JOBS.filter(
    ({ name, quick }) => (only?.includes(name) ?? true) && (!values.compare || quick !== undefined),
  );
  const done: RecordedJob[] = [];
  for (const job of jobs) done.push(await runJob(job));
  if (values.record) await writeRecord(done);
  const failed = done.filter((job) => job.failed !== undefined);
  for (const { name, failed: why } of failed) process.stdout.write(`${name}: ${why}\n`);
  if (!values.compare) return failed.length > 0 ? 1 : 0;
  const before = (await readRecord())?.jobs.flatMap(({ figures }) => figures) ?? [];
  const worse = regressions(
    done.flatMap(({ figures }) => figures),
    before,
  );
  process.stdout.write(`\n${worse.length} figures are worse than recorded\n`);
  for (const { figure, ratio, recorded } of worse) {
    process.stdout.write(
      `- ${figure.name}, ${figure.size} ${figure.of}: ${ratio.toFixed(2)} times ${figure.baseline.subject}, recorded ${recorded.toFixed(2)}\n`,
    );
  }
  return worse.length + failed.length > 0 ? 1 : 0;
}

/** Runs one as a process of its own; what it prints is shown. */
async function runJob(job: Job): Promise<RecordedJob> {
  process.stdout.write(`\n=== ${job.name}: ${job.what}\n`);
  const scratch = await mkdtemp(join(tmpdir(), "bench-all-"));
  const file = join(scratch, "figures.jsonl");
  const begun = performance.now();
  const [before = 0] = loadavg();
  try {
    const failed = await runProcess(job, file);
    const [after = 0] = loadavg();
    return {
      name: job.name,
      commit: git("rev-parse", "--short=12", "HEAD"),
      date: new Date().toISOString().slice(0, 10),
      load: [before, after],
      minutes: (performance.now() - begun) / 60_000,
      figures: existsSync(file) ? readFigures(file) : [],
      ...(failed !== undefined && { failed }),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Why it did not come to its end; undefined where it did. */
async function runProcess(job: Job, file: string): Promise<string | undefined> {
  const words = (values.compare && job.quick) || job.words;
  const { servers = "none", tools = "none" } = job;
  const needs = servers !== "none" || tools !== "none";
  const given = ["exec", "--servers", servers, "--tools", tools, "--", process.execPath];
  const prefix = needs ? [join(root, "tools/servers/src/main.ts"), ...given] : [];
  const child = spawn(process.execPath, [...prefix, ...words], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...(values.compare && job.quickEnv), [FIGURES_FILE]: file },
    // Asked to end, so that servers that it started end with it.
    signal: AbortSignal.timeout(job.limitMinutes * 60_000),
    killSignal: "SIGTERM",
  });
  // What does not obey is ended.
  const obeys = setTimeout(() => child.kill("SIGKILL"), job.limitMinutes * 60_000 + 30_000);
  return new Promise((resolve) => {
    let error: Error | undefined;
    child.on("error", (cause) => {
      error = cause;
    });
    child.on("close", (code, signal) => {
      clearTimeout(obeys);
      if (error?.name === "AbortError") resolve(`it took more than ${job.limitMinutes} minutes`);
      else if (error !== undefined) resolve(error.message);
      else if (code === 0) resolve(undefined);
      else resolve(`it ended with ${code ?? signal}`);
    });
  });
}

async function readRecord(): Promise<Recorded | undefined> {
  if (!existsSync(record)) return undefined;
  return JSON.parse(await readFile(record, "utf8")) as Recorded;
}

async function writeRecord(done: readonly RecordedJob[]): Promise<void> {
  const former = (await readRecord())?.jobs ?? [];
  const jobs = JOBS.flatMap(({ name }) => {
    const job = done.find((one) => one.name === name) ?? former.find((one) => one.name === name);
    return job === undefined ? [] : [job];
  });
  const recorded: Recorded = {
    machine: machine(),
    jobs: jobs.map((job) => ({ ...job, figures: job.figures.map(rounded) })),
  };
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (name.endsWith(".svg")) await rm(join(folder, name));
  }
  // Of one name across benchmarks, too: large sizes are measured apart.
  for (const curve of curvesOf(jobs.flatMap(({ figures }) => figures))) {
    if (curve.points.length > 2) await writeFile(join(folder, plotName(curve)), plot(curve));
  }
  await writeFile(record, `${JSON.stringify(recorded, undefined, 2)}\n`);
  await writeFile(join(root, "docs/benchmarks.md"), renderPage(recorded, JOBS));
}

/** Four digits say more than any of the figures is worth. */
function rounded(figure: Figure): Figure {
  const round = (measured: Figure["ours"]): Figure["ours"] =>
    Object.fromEntries(
      Object.entries(measured).map(([key, value]) => [
        key,
        typeof value === "number" ? Number(value.toPrecision(4)) : value,
      ]),
    ) as unknown as Figure["ours"];
  return { ...figure, ours: round(figure.ours), baseline: round(figure.baseline) };
}

function machine(): readonly string[] {
  const model = cpus()[0]?.model ?? "unknown processor";
  return [`${cpus().length} cores of ${model}`, `Node ${process.version}`, process.platform];
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}
