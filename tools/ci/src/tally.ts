import { readFileSync } from "node:fs";
import { type CommandResult, describeEnd } from "@stackwright-tools/processes";
import { readVitestReport, type VitestReport } from "./vitest-report.ts";

/** What a suite found: cases passed, and one line each for what failed or was skipped. */
export interface Tally {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** One line for each case that passed the second time alone. */
  readonly flaky?: readonly string[];
}

/** More cases of a suite that pass the second time alone are a failure: the machine, or the code, is not well. */
const FLAKY_LIMIT = 3;

export function addTallies(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, tally) => sum + tally.passed, 0),
    failed: tallies.flatMap((tally) => tally.failed),
    skipped: tallies.flatMap((tally) => tally.skipped),
    flaky: tallies.flatMap((tally) => tally.flaky ?? []),
  };
}

/** The tally of a check that is a single command: one case, passed when it ends with code 0. */
export function tallyCommand(name: string, result: CommandResult): Tally {
  return result.code === 0
    ? { passed: 1, failed: [], skipped: [] }
    : { passed: 0, failed: [`${name} ${describeEnd(result)}`], skipped: [] };
}

/** The tally that a script wrote itself; a script that ended otherwise than its report says has failed. */
export function tallyReport(reportPath: string, result: CommandResult): Tally {
  let tally: Tally;
  try {
    tally = JSON.parse(readFileSync(reportPath, "utf8")) as Tally;
  } catch (error) {
    return {
      passed: 0,
      failed: [`${(error as Error).message} (the script ${describeEnd(result)})`],
      skipped: [],
    };
  }
  if (tally.failed.length > 0 || result.code === 0) return tally;
  return { ...tally, failed: [`the script ${describeEnd(result)}`] };
}

/**
 * The tally of a vitest run from its report and the end of its process. These are failures regardless of the report: a
 * missing report, files that were planned and did not finish, errors outside tests, skips without a reason, more than
 * three tests that passed the second time alone, and a runner that did not end with code 0.
 */
export function tallyVitest(reportPath: string, result: CommandResult): Tally {
  let report: VitestReport;
  try {
    report = readVitestReport(reportPath);
  } catch (error) {
    return {
      passed: 0,
      failed: [`${(error as Error).message} (the runner ${describeEnd(result)})`],
      skipped: [],
    };
  }
  const finished = new Set(report.finished);
  const flaky = report.flaky.map(({ file, test, note }) => `${file}: ${test}: ${firstLine(note)}`);
  const failed = [
    ...report.failed.map(({ file, test, note }) => `${file}: ${test}: ${firstLine(note)}`),
    ...report.errors.map((error) => `outside a test: ${firstLine(error)}`),
    ...report.planned.filter((file) => !finished.has(file)).map((file) => `${file} did not finish`),
    ...report.skipped
      .filter(({ note }) => note === "")
      .map(({ file, test }) => `${file}: ${test}: skipped without a reason`),
    ...(flaky.length > FLAKY_LIMIT ? flaky.map((line) => `${line} (passed when tried again)`) : []),
  ];
  if (failed.length === 0 && (result.code !== 0 || report.reason !== "passed")) {
    failed.push(`the runner ${describeEnd(result)} and called its run ${report.reason}`);
  }
  return {
    passed: report.passed,
    failed,
    skipped: report.skipped
      .filter(({ note }) => note !== "")
      .map(({ file, test, note }) => `${file}: ${test}: ${note}`),
    flaky,
  };
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line;
}
