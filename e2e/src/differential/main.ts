import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type DifferentialCase, readCases } from "./case-files.ts";
import { compareRecordings, type Deviation } from "./compare.ts";
import { objectOf } from "./exact-json.ts";
import { prettyJson } from "./pretty-json.ts";
import { ProviderMirror } from "./provider-mirror.ts";
import { runCase } from "./run-case.ts";
import { stackwrightTool, type Tool, terraformTool } from "./tool.ts";

const USAGE = `node e2e/src/differential/main.ts [options] [CASE...]

Runs differential cases with one of two commands and compares with what was recorded.
The cases are in the folder that DIFF_CASES names, else in e2e/cases.

  --with stackwright|terraform   which command runs them (default: stackwright)
  --record                       with terraform: write expected.json of the cases
  --live                         where terraform is there: run it now, and compare with that instead
  --processes                    with stackwright: a process for every command, as users have it
  --jobs N                       cases at the same time
  --report FILE                  what came of it, as JSON
  CASE                           beginnings of names; all without any`;

const { values, positionals } = parseArgs({
  options: {
    with: { type: "string", default: "stackwright" },
    record: { type: "boolean", default: false },
    live: { type: "boolean", default: false },
    jobs: { type: "string", default: String(Math.max(1, availableParallelism())) },
    processes: { type: "boolean", default: false },
    report: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
  allowPositionals: true,
});

if (values.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}

const root = resolve(import.meta.dirname, "../../..");
const folder = resolve(process.env.DIFF_CASES ?? join(root, "e2e/cases"));
const terraform = process.env.TEST_TERRAFORM ?? "terraform";
const launcher = [process.execPath, join(root, "apps/cli/bin/stackwright.mjs")];

/** Differences that are meant, each with its reason. */
interface Intended {
  readonly case: string;
  readonly step: string;
  readonly field: string;
  readonly reason: string;
}

const intended = readIntended(join(root, "e2e/intended-differences.json"));

function readIntended(path: string): readonly Intended[] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Intended[]) : [];
}

function toolOf(name: string): (scratch: string) => Tool {
  return name === "terraform"
    ? () => terraformTool(terraform)
    : (scratch) => stackwrightTool(values.processes ? launcher : undefined, join(scratch, "store"));
}

interface Outcome {
  readonly lines: readonly string[];
  readonly passed: number;
  /** One line for each step that is not as recorded. */
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

async function judge(test: DifferentialCase): Promise<Outcome> {
  const reason = mirror.reasonAgainst(test.needs);
  if (reason !== undefined) {
    return {
      lines: [`SKIP ${test.name}: ${reason}`],
      passed: 0,
      failed: [],
      skipped: [`${test.name}: ${reason}`],
    };
  }
  const rc = test.needs.length === 0 ? undefined : mirror.configuration;
  try {
    if (values.record) {
      const recording = await runCase(test, toolOf("terraform"), rc);
      writeFileSync(join(test.folder, "expected.json"), prettyJson(recording));
      return { lines: [`recorded ${test.name}`], passed: 1, failed: [], skipped: [] };
    }
    const expected = values.live ? await runCase(test, toolOf("terraform"), rc) : test.expected;
    if (expected === undefined) throw new Error("nothing was recorded; run with --record");
    const actual = await runCase(test, toolOf(values.with), rc);
    return outcomeOf(test, objectOf(expected), compareRecordings(objectOf(expected), actual));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const line = `${test.name}: ${message}`;
    return { lines: [`FAIL ${line}`], passed: 0, failed: [line], skipped: [] };
  }
}

function outcomeOf(
  test: DifferentialCase,
  expected: ReturnType<typeof objectOf>,
  deviations: readonly Deviation[],
): Outcome {
  const lines: string[] = [];
  let passed = 0;
  const failed: string[] = [];
  const steps = [
    ...test.steps.map(({ name }) => name),
    ...("destroy" in expected ? ["destroy"] : []),
  ];
  for (const step of steps) {
    const own = deviations.filter((one) => one.step === step);
    const meant = own.filter((one) => reasonFor(test.name, one) !== undefined);
    const bad = own.filter((one) => !meant.includes(one));
    if (bad.length === 0) passed++;
    else failed.push(`${test.name} ${step}: ${bad[0]?.field}: ${bad[0]?.message}`);
    lines.push(`${bad.length === 0 ? "ok  " : "FAIL"} ${test.name} ${step}`);
    for (const { field, message } of bad) lines.push(`       ${field}: ${message}`);
    for (const one of meant) {
      lines.push(`       (meant) ${one.field}: ${reasonFor(test.name, one) ?? ""}`);
    }
  }
  for (const one of intended.filter((entry) => entry.case === test.name)) {
    if (!deviations.some((deviation) => matches(one, test.name, deviation))) {
      const line = `${test.name} ${one.step}: the listed difference in ${one.field} does not occur`;
      failed.push(line);
      lines.push(`FAIL ${line}`);
    }
  }
  return { lines, passed, failed, skipped: [] };
}

function reasonFor(name: string, deviation: Deviation): string | undefined {
  return intended.find((entry) => matches(entry, name, deviation))?.reason;
}

function matches(entry: Intended, name: string, { step, field }: Deviation): boolean {
  return entry.case === name && entry.step === step && field === entry.field;
}

const cases = readCases(folder).filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);
await using mirror = await ProviderMirror.make(cases.flatMap(({ needs }) => needs));
const queue = [...cases];
const total: { passed: number; failed: string[]; skipped: string[] } = {
  passed: 0,
  failed: [],
  skipped: [],
};

async function work(): Promise<void> {
  for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
    const outcome = await judge(test);
    process.stdout.write(`${outcome.lines.join("\n")}\n`);
    total.passed += outcome.passed;
    total.failed.push(...outcome.failed);
    total.skipped.push(...outcome.skipped);
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
if (cases.length === 0) total.failed.push(`there is no case in ${folder}`);
if (values.report !== undefined) {
  mkdirSync(dirname(values.report), { recursive: true });
  writeFileSync(values.report, JSON.stringify(total));
}
const { passed, failed, skipped } = total;
process.stdout.write(
  `${cases.length} cases: ${passed} steps passed, ${failed.length} failed, ${skipped.length} skipped\n`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
