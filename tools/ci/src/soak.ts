import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runSuiteCommand } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";
import { SOAK_JOBS, type SoakJob } from "./soak-jobs.ts";
import { tallyVitest } from "./tally.ts";
import { readVitestReport } from "./vitest-report.ts";

/** The result of one slice of a job; kept on disk, so that an interrupted soak continues after it. */
interface SliceResult {
  readonly job: string;
  readonly seed: number;
  readonly runs: number;
  readonly minutes: number;
  readonly passed: number;
  readonly failed: readonly string[];
  /** Amounts that the tests announced, summed by what they count. */
  readonly counts: Readonly<Record<string, number>>;
}

const HELP = `usage: .ci/soak [--only JOB,...] [--minutes N]

Runs the random suites at their full counts, slice by slice, each slice with a seed of its own. A slice
that came to its end at this commit is not run again. Writes docs/soak/<commit>.md, to be committed.

  --minutes N   begin no slice after N minutes; the next call continues from there

Jobs:
${SOAK_JOBS.map(({ name, what, slices, runs }) => `  ${name.padEnd(12)} ${what}; ${slices} slices of ${runs} times the counts of npm test`).join("\n")}
`;

const root = join(import.meta.dirname, "..", "..", "..");
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    minutes: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});
if (values.help === true) process.stdout.write(HELP);
else process.exitCode = await soak(values.only?.split(","), Number(values.minutes ?? Infinity));

async function soak(only: readonly string[] | undefined, limit: number): Promise<number> {
  const unknown = only?.find((name) => SOAK_JOBS.every((job) => job.name !== name));
  if (unknown !== undefined || Number.isNaN(limit)) {
    process.stderr.write(HELP);
    return 2;
  }
  const commit = git("rev-parse", "HEAD").slice(0, 12);
  const dirty = git("status", "--porcelain") !== "";
  const folder = join(root, ".reports", "soak", dirty ? `${commit}-modified` : commit);
  mkdirSync(folder, { recursive: true });
  const end = performance.now() + limit * 60_000;
  const results: SliceResult[] = [];
  let left = 0;
  for (const job of SOAK_JOBS.filter(({ name }) => only?.includes(name) ?? true)) {
    for (let slice = 0; slice < job.slices; slice += 1) {
      const path = join(folder, `${job.name}-${slice}.json`);
      if (existsSync(path)) {
        results.push(JSON.parse(readFileSync(path, "utf8")) as SliceResult);
      } else if (performance.now() > end) {
        left += 1;
      } else {
        const result = await runSlice(job, 1000 + slice, `${path}.report`);
        writeFileSync(path, JSON.stringify(result, undefined, 1));
        results.push(result);
      }
    }
  }
  const report = render(commit, dirty, results, left);
  mkdirSync(join(root, "docs", "soak"), { recursive: true });
  writeFileSync(join(root, "docs", "soak", `${commit}.md`), report);
  process.stdout.write(`\n${report}`);
  return left === 0 && results.every(({ failed }) => failed.length === 0) ? 0 : 1;
}

async function runSlice(job: SoakJob, seed: number, report: string): Promise<SliceResult> {
  process.stdout.write(`\n=== ${job.name}, seed ${seed}\n`);
  const start = performance.now();
  const config = job.live ? ["--config", "vitest.live.config.ts", "--retry", "0"] : [];
  const vitest: [string, ...string[]] = ["vitest", "run", ...config, ...job.files];
  const timeoutMs = job.limitMinutes * 60_000;
  if (job.program !== undefined) {
    const begin = [process.execPath, ...job.program, String(seed)] as const;
    const { code } = await runSuiteCommand(begin, { cwd: root, timeoutMs });
    return {
      job: job.name,
      seed,
      runs: job.runs,
      minutes: (performance.now() - start) / 60_000,
      passed: code === 0 ? 1 : 0,
      failed: code === 0 ? [] : [`${job.program[0]} ended with ${code ?? "a signal"}`],
      counts: {},
    };
  }
  const exec = [
    ...(job.servers === undefined ? [] : ["--servers", job.servers]),
    ...(job.tools === undefined ? [] : ["--tools", job.tools]),
  ];
  const argv: [string, ...string[]] = job.live
    ? [process.execPath, join(root, "tools/servers/src/main.ts"), "exec", ...exec, "--", ...vitest]
    : vitest;
  const end = await runSuiteCommand([...argv, "--test-timeout", String(timeoutMs)], {
    cwd: root,
    timeoutMs,
    env: {
      ...job.env,
      STACKWRIGHT_REPORT: report,
      STACKWRIGHT_SEED: String(seed),
      STACKWRIGHT_RUNS: String(job.runs),
    },
  });
  const tally = tallyVitest(report, end);
  const counts: Record<string, number> = {};
  if (existsSync(report)) {
    for (const { amount, of } of readVitestReport(report).counts) {
      counts[of] = (counts[of] ?? 0) + amount;
    }
  }
  return {
    job: job.name,
    seed,
    runs: job.runs,
    minutes: (performance.now() - start) / 60_000,
    passed: tally.passed,
    failed: tally.failed,
    counts,
  };
}

function render(commit: string, dirty: boolean, results: readonly SliceResult[], left: number) {
  const lines = [
    `# Soak of ${commit}`,
    "",
    ...(dirty ? ["The work tree had changes that are not in this commit.", ""] : []),
    ...(left === 0 ? [] : [`${left} slices are still to be run.`, ""]),
  ];
  const rows = [
    [
      "job",
      "seeds",
      "times the counts of `npm test`",
      "cases passed",
      "failed",
      "minutes",
      "counted",
    ],
  ];
  for (const name of new Set(results.map(({ job }) => job))) {
    const slices = results.filter(({ job }) => job === name);
    const seeds = slices.map(({ seed }) => seed);
    const counts: Record<string, number> = {};
    for (const slice of slices) {
      for (const [of, amount] of Object.entries(slice.counts)) {
        counts[of] = (counts[of] ?? 0) + amount;
      }
    }
    const counted = Object.entries(counts).map(([of, amount]) => `${amount} ${of}`);
    rows.push([
      name,
      `${Math.min(...seeds)} to ${Math.max(...seeds)}`,
      [...new Set(slices.map(({ runs }) => runs))].join(", "),
      `${sum(slices.map(({ passed }) => passed))}`,
      `${sum(slices.map(({ failed }) => failed.length))}`,
      sum(slices.map(({ minutes }) => minutes)).toFixed(1),
      counted.join(", "),
    ]);
  }
  lines.push(...markdownTable(rows));
  const failures = results.flatMap(({ job, seed, failed }) =>
    failed.map((line) => `- ${job}, seed ${seed}: ${line}`),
  );
  if (failures.length > 0) lines.push("", "Failures:", "", ...failures);
  return `${lines.join("\n")}\n`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}
