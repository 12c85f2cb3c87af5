import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandResult } from "@stackwright-tools/processes";
import { describe, expect, it } from "vitest";
import { tallyVitest } from "./tally.ts";
import type { VitestReport } from "./vitest-report.ts";

const ENDED: CommandResult = {
  code: 0,
  signal: undefined,
  timedOut: false,
  stdout: "",
  stderr: "",
};

const GREEN: VitestReport = {
  format: "stackwright-vitest-report/1",
  reason: "passed",
  planned: ["a.test.ts"],
  finished: ["a.test.ts"],
  passed: 3,
  failed: [],
  skipped: [],
  flaky: [],
  errors: [],
  counts: [],
};

function tally(report: Partial<VitestReport> | string | undefined, end = ENDED) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "tally-"));
  const path = join(folder.path, "report.json");
  if (typeof report === "string") writeFileSync(path, report);
  else if (report !== undefined) writeFileSync(path, JSON.stringify({ ...GREEN, ...report }));
  return tallyVitest(path, end);
}

describe("tallyVitest", () => {
  it("counts a green run", () => {
    expect(tally({})).toEqual({ passed: 3, failed: [], skipped: [], flaky: [] });
  });

  it("names tests that passed the second time, and fails at the fourth", () => {
    const flaky = ["t", "u", "v", "w"].map((test) => ({ file: "a.test.ts", test, note: "slow" }));
    const three = tally({ flaky: flaky.slice(1) });
    expect(three.failed).toEqual([]);
    expect(three.flaky).toEqual(["u", "v", "w"].map((test) => `a.test.ts: ${test}: slow`));
    expect(tally({ flaky }).failed).toHaveLength(4);
  });

  it("shows skips with their reasons", () => {
    const skipped = [{ file: "a.test.ts", test: "t", note: "no server" }];
    expect(tally({ skipped }).skipped).toEqual(["a.test.ts: t: no server"]);
  });

  it.each<[string, Partial<VitestReport> | string | undefined, CommandResult?]>([
    ["there is no report", undefined],
    [
      "the runner was killed before it wrote one",
      undefined,
      { ...ENDED, code: undefined, signal: "SIGKILL" },
    ],
    ["the report is cut short", '{"format": "stackwright-vitest-report/1", "pas'],
    ["the report is another file", "{}"],
    ["a test failed", { failed: [{ file: "a", test: "t", note: "boom" }] }],
    ["a planned file did not finish", { finished: [] }],
    ["an error happened outside a test", { errors: ["stray"] }],
    ["a skip has no reason", { skipped: [{ file: "a", test: "t", note: "" }] }],
    ["the runner ended with an error", {}, { ...ENDED, code: 1 }],
    [
      "the runner was killed after it wrote one",
      {},
      { ...ENDED, code: undefined, signal: "SIGKILL" },
    ],
    ["the run was interrupted", { reason: "interrupted" }],
  ])("fails when %s", (_what, report, end) => {
    expect(tally(report, end ?? ENDED).failed).toHaveLength(1);
  });
});
