import { readFileSync } from "node:fs";

/** One test that did not simply pass. */
export interface NotedTest {
  readonly file: string;
  readonly test: string;
  readonly note: string;
}

/**
 * What a vitest run leaves behind. The reporter writes it once, at the end of a run, so a run
 * that died leaves no report, and a report that exists is whole.
 */
export interface VitestReport {
  readonly format: "stackwright-vitest-report/1";
  /** `passed`, `failed` or `interrupted`, as vitest itself judges the run. */
  readonly reason: string;
  /** Test files that vitest set out to run, relative to the repository. */
  readonly planned: readonly string[];
  /** Test files that came to an end. */
  readonly finished: readonly string[];
  readonly passed: number;
  readonly failed: readonly NotedTest[];
  readonly skipped: readonly NotedTest[];
  /** Tests among the passed ones that failed before they passed. */
  readonly flaky: readonly NotedTest[];
  /** Errors outside any test: files that do not load, unhandled rejections. */
  readonly errors: readonly string[];
  /** Amounts that tests announce with `annotate("1000 programs", "count")`. */
  readonly counts: readonly {
    readonly test: string;
    readonly amount: number;
    readonly of: string;
  }[];
}

/** Reads a report; a missing or broken one is an error that says so. */
export function readVitestReport(path: string): VitestReport {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new Error(`no report at ${path}: the runner died or never started`);
  }
  const report: unknown = JSON.parse(text);
  if (
    typeof report !== "object" ||
    report === null ||
    (report as Partial<VitestReport>).format !== "stackwright-vitest-report/1"
  ) {
    throw new Error(`${path} is not a test report of the expected format`);
  }
  return report as VitestReport;
}
