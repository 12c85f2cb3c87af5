import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type DifferentialCase, readCases } from "./case-files.ts";
import { compareRecordings, type Deviation } from "./compare.ts";
import { objectOf } from "./exact-json.ts";
import { prettyJson } from "./pretty-json.ts";
import { runCase } from "./run-case.ts";
import { stackwrightTool, type Tool, terraformTool } from "./tool.ts";

const USAGE = `node e2e/differential/main.ts [options] [CASE...]

Runs differential cases with one of two commands and compares with what was recorded.
The cases are in the folder that DIFF_CASES names, else in e2e/differential/cases.

  --with stackwright|terraform   which command runs them (default: stackwright)
  --record                       with terraform: write expected.json of the cases
  --live                         where terraform is there: run it now, and compare with that instead
  --jobs N                       cases at the same time
  CASE                           beginnings of names; all without any`;

const { values, positionals } = parseArgs({
  options: {
    with: { type: "string", default: "stackwright" },
    record: { type: "boolean", default: false },
    live: { type: "boolean", default: false },
    jobs: { type: "string", default: String(Math.max(1, availableParallelism())) },
    help: { type: "boolean", short: "h", default: false },
  },
  allowPositionals: true,
});

if (values.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}

const root = resolve(import.meta.dirname, "../..");
const folder = resolve(process.env.DIFF_CASES ?? join(import.meta.dirname, "cases"));
const terraform = process.env.TEST_TERRAFORM ?? "terraform";
const launcher = [process.execPath, join(root, "apps/engine/bin/stackwright.mjs")];

/** Differences that are meant, each with its reason. */
interface Intended {
  readonly case: string;
  readonly step: string;
  readonly field: string;
  readonly reason: string;
}

const intended = readIntended(join(import.meta.dirname, "intended-differences.json"));

function readIntended(path: string): readonly Intended[] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Intended[]) : [];
}

function toolOf(name: string): (scratch: string) => Tool {
  return name === "terraform"
    ? () => terraformTool(terraform)
    : (scratch) => stackwrightTool(launcher, join(scratch, "store"));
}

interface Outcome {
  readonly lines: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

async function judge(test: DifferentialCase): Promise<Outcome> {
  const missing = test.needs.filter((name) => process.env[variableOf(name)] === undefined);
  if (missing.length > 0) {
    const reason = `needs ${missing.map(variableOf).join(", ")}`;
    return { lines: [`SKIP ${test.name}: ${reason}`], passed: 0, failed: 0, skipped: 1 };
  }
  try {
    if (values.record) {
      const recording = await runCase(test, toolOf("terraform"));
      writeFileSync(join(test.folder, "expected.json"), prettyJson(recording));
      return { lines: [`recorded ${test.name}`], passed: 1, failed: 0, skipped: 0 };
    }
    const expected = values.live ? await runCase(test, toolOf("terraform")) : test.expected;
    if (expected === undefined) throw new Error("nothing was recorded; run with --record");
    const actual = await runCase(test, toolOf(values.with));
    return outcomeOf(test, objectOf(expected), compareRecordings(objectOf(expected), actual));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { lines: [`FAIL ${test.name}: ${message}`], passed: 0, failed: 1, skipped: 0 };
  }
}

function variableOf(tool: string): string {
  return `TEST_TOOL_${tool.toUpperCase().replaceAll("-", "_")}`;
}

function outcomeOf(
  test: DifferentialCase,
  expected: ReturnType<typeof objectOf>,
  deviations: readonly Deviation[],
): Outcome {
  const lines: string[] = [];
  let passed = 0;
  let failed = 0;
  const steps = [
    ...test.steps.map(({ name }) => name),
    ...("destroy" in expected ? ["destroy"] : []),
  ];
  for (const step of steps) {
    const own = deviations.filter((one) => one.step === step);
    const meant = own.filter((one) => reasonFor(test.name, one) !== undefined);
    const bad = own.filter((one) => !meant.includes(one));
    if (bad.length === 0) passed++;
    else failed++;
    lines.push(`${bad.length === 0 ? "ok  " : "FAIL"} ${test.name} ${step}`);
    for (const { field, message } of bad) lines.push(`       ${field}: ${message}`);
    for (const one of meant) {
      lines.push(`       (meant) ${one.field}: ${reasonFor(test.name, one) ?? ""}`);
    }
  }
  for (const one of intended.filter((entry) => entry.case === test.name)) {
    if (!deviations.some((deviation) => matches(one, test.name, deviation))) {
      failed++;
      lines.push(`FAIL ${test.name} ${one.step}: the listed difference in ${one.field} is none`);
    }
  }
  return { lines, passed, failed, skipped: 0 };
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
const queue = [...cases];
const total = { passed: 0, failed: 0, skipped: 0 };

async function work(): Promise<void> {
  for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
    const outcome = await judge(test);
    process.stdout.write(`${outcome.lines.join("\n")}\n`);
    total.passed += outcome.passed;
    total.failed += outcome.failed;
    total.skipped += outcome.skipped;
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
process.stdout.write(
  `${cases.length} cases: ${total.passed} steps passed, ${total.failed} failed, ${total.skipped} skipped\n`,
);
process.exitCode = total.failed > 0 || cases.length === 0 ? 1 : 0;
