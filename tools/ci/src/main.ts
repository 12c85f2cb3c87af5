import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { affectedSuite } from "./affected-suite.ts";
import { SUITES, type Suite, type SuiteContext } from "./suites.ts";
import type { Tally } from "./tally.ts";

/** One worked-through line of the table. */
interface Row {
  readonly name: string;
  readonly minutes: number;
  readonly tally: Tally;
}

/** Suites that are quick enough to run for any change, before the tests of what it affects. */
const QUICK_SUITES = ["format", "lint", "imports", "prose", "links"];

const HELP = `usage: node tools/ci/src/main.ts [--npm-test-exit CODE] [--minutes N] [--only NAME,...]
       node tools/ci/src/main.ts --affected BASE

--affected BASE runs ${QUICK_SUITES.join(", ")}, then types and unit tests of the packages that differ from the
commit BASE and of those that depend on them; what did not change comes from turbo's cache.
--minutes N starts no further suite after that time and counts each as failed.

Works through the suites of .ci/run and ends with one line of counts. Suites:
${SUITES.map(describeSuite).join("\n")}
`;

function describeSuite({ name, what, limitMinutes, onRequest }: Suite): string {
  const when = onRequest === true ? ", with --only alone" : "";
  return `  ${name.padEnd(10)} ${what} (at most ${limitMinutes} min${when})`;
}

const { values } = parseArgs({
  options: {
    "npm-test-exit": { type: "string" },
    only: { type: "string" },
    affected: { type: "string" },
    minutes: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});
if (values.help === true) {
  process.stdout.write(HELP);
} else {
  const root = join(import.meta.dirname, "..", "..", "..");
  const limitMinutes = Number(values.minutes ?? Infinity);
  const begin = performance.now();
  const rows = await runSuites(
    {
      root,
      reports: join(root, ".reports"),
      npmTestExit: Number(values["npm-test-exit"] ?? 0),
      seed: seedOfCommit(root),
      leftMs: () => begin + limitMinutes * 60_000 - performance.now(),
    },
    selectSuites(values.only?.split(","), values.affected),
    limitMinutes,
  );
  process.exitCode = print(rows);
}

function selectSuites(only: readonly string[] | undefined, affected: string | undefined): Suite[] {
  const names = affected === undefined ? only : QUICK_SUITES;
  const unknown = names?.find((name) => SUITES.every((suite) => suite.name !== name));
  if (unknown !== undefined) throw new Error(`there is no suite "${unknown}"\n${HELP}`);
  const suites = SUITES.filter(({ name, onRequest }) =>
    names === undefined ? onRequest !== true : names.includes(name),
  );
  return affected === undefined ? suites : [...suites, affectedSuite(affected)];
}

async function runSuites(
  context: SuiteContext,
  suites: readonly Suite[],
  limitMinutes: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const suite of suites) {
    if (context.leftMs() < 0) {
      const failed = [`not started: the run has used its ${limitMinutes} minutes`];
      rows.push({ name: suite.name, minutes: 0, tally: { passed: 0, failed, skipped: [] } });
      continue;
    }
    process.stdout.write(`\n=== ${suite.name}: ${suite.what}\n`);
    const start = performance.now();
    let tally: Tally;
    try {
      tally = await suite.run(context);
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      tally = { passed: 0, failed: [`the suite itself broke: ${message}`], skipped: [] };
    }
    rows.push({ name: suite.name, minutes: (performance.now() - start) / 60_000, tally });
  }
  return rows;
}

/** Prints the table and the closing line; returns the exit code. */
function print(rows: readonly Row[]): number {
  const lines = ["\n=== summary", "suite       minutes  passed  failed  skipped"];
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const { name, minutes, tally } of rows) {
    passed += tally.passed;
    failed += tally.failed.length;
    skipped += tally.skipped.length;
    const counts = [tally.passed, tally.failed.length, tally.skipped.length];
    lines.push(
      `${name.padEnd(10)}  ${minutes.toFixed(1).padStart(7)}  ${counts.map((count) => String(count).padStart(6)).join("  ")}`,
    );
  }
  for (const { name, tally } of rows) {
    lines.push(...tally.skipped.map((reason) => `skipped in ${name}: ${reason}`));
    lines.push(...(tally.flaky ?? []).map((reason) => `flaky in ${name}: ${reason}`));
    lines.push(...tally.failed.map((reason) => `FAILED in ${name}: ${reason}`));
  }
  // Nothing at all having run is not a success.
  if (passed === 0 && failed === 0) {
    failed = 1;
    lines.push("FAILED: no suite ran a single case");
  }
  lines.push(`${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return failed === 0 ? 0 : 1;
}

/** The same for all runs at one commit, another at the next. */
function seedOfCommit(root: string): number {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root });
  return createHash("sha256").update(commit).digest().readUInt32BE(0) >>> 1;
}
