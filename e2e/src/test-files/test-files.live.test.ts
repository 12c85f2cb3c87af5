import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { rotatingSlice } from "@stackwright/base/testing";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { type CliResult, cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { ODD_SUITES } from "./odd-suites.ts";
import { SUITES, type Suite } from "./suites.ts";

const run = promisify(execFile);
const real = process.env["TEST_TERRAFORM"] ?? "terraform";

async function ground(ctx: TestContext, { files, gate }: Suite): Promise<Scratch> {
  const version = await run(real, ["version"]).catch(() => undefined);
  ctx.skip(version === undefined, `${real} cannot be run on this machine`);
  const scratch = await Scratch.make();
  onTestFinished(async () => scratch[Symbol.asyncDispose]());
  await scratch.write(files);
  if (gate === true) await scratch.installGateProvider();
  return scratch;
}

async function terraform(
  { work, env }: Scratch,
  words: readonly string[],
  more: Suite["env"] = {},
): Promise<Pick<CliResult, "code" | "output">> {
  return run(real, [...words], {
    cwd: work,
    env: { ...env, ...more, CHECKPOINT_DISABLE: "1" },
    timeout: 90_000,
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
  );
}

interface TestLine {
  readonly type: string;
  readonly test_abstract?: Readonly<Record<string, readonly string[] | null>>;
  readonly test_file?: {
    readonly path: string;
    readonly progress: string;
    readonly status?: string;
  };
  readonly test_run?: {
    readonly path: string;
    readonly run: string;
    readonly progress: string;
    readonly status?: string;
  };
  readonly test_summary?: unknown;
  readonly "@message": string;
}

/** What the lines of a test say: files, runs and their order, statuses, numbers. Not how long it took. */
function facts(output: string): readonly string[] {
  const found: string[] = [];
  for (const text of output.trim().split("\n")) {
    const line = JSON.parse(text) as TestLine;
    const { test_abstract: files, test_file: file, test_run: one, test_summary: summary } = line;
    if (files !== undefined) {
      for (const [name, runs] of Object.entries(files))
        found.push(`${name}: ${(runs ?? []).join()}`);
    }
    if (file !== undefined) found.push(`${file.path} ${file.progress} ${file.status ?? ""}`);
    if (one !== undefined && one.progress !== "running") {
      const fact = `${one.path} ${one.run} ${one.progress} ${one.status ?? ""}`;
      // A long teardown is repeated by the reference.
      if (found.at(-1) !== fact) found.push(fact);
    }
    if (summary !== undefined) found.push(`${JSON.stringify(summary)} ${line["@message"]}`);
  }
  return found;
}

/**
 * Where the message of an assertion is made of secrets, the reference leaves the message of the failure empty behind its colon, and
 * explains that in a warning apart. Ours says it in the message, as that is what the pages of CI systems show.
 */
const NOT_SHOWN = "The message of this condition is made of sensitive values and is not shown.";

/** Cases of a JUnit report with their results. */
function cases(report: string): readonly string[] {
  const names = [...report.matchAll(/<(testsuite|testcase|failure|error|skipped) ([^>]*)>/g)];
  return names.map(([, element = "", attributes = ""]) =>
    `${element} ${attributes.replaceAll(/ (?:time|timestamp)="[^"]*"/g, "")}`.replaceAll(
      NOT_SHOWN,
      "",
    ),
  );
}

/** The message of a failure has the lines that differ; of lists alone it would have only their lengths. */
function expectSame(ours: readonly string[], theirs: readonly string[]): void {
  const length = Math.max(ours.length, theirs.length);
  const lines = Array.from({ length }, (_, at) => at).filter((at) => ours[at] !== theirs[at]);
  const differences = lines
    .slice(0, 3)
    .map((at) => `line ${at + 1} is [${ours[at] ?? "absent"}], theirs [${theirs[at] ?? "absent"}]`);
  expect(ours, differences.join("; ")).toEqual(theirs);
}

describe("test files, side by side with the real command", () => {
  for (const [name, suite] of rotatingSlice(Object.entries({ ...SUITES, ...ODD_SUITES }), 4)) {
    it(name, async (ctx) => {
      const { words = [], env = {} } = suite;
      const scratch = await ground(ctx, suite);
      const folder = words.filter((word) => word.startsWith("-test-directory"));
      await terraform(scratch, ["init", "-input=false", ...folder]);
      const test = ["test", "-json", "-junit-xml=report.xml", ...words];
      const theirs = await terraform(scratch, test, env);
      const report = async (): Promise<readonly string[]> =>
        cases(await readFile(join(scratch.work, "report.xml"), "utf8").catch(() => ""));
      const theirReport = await report();
      await rm(join(scratch.work, "report.xml"), { force: true });
      const ours = await cli(scratch, test, { env });
      expectSame(facts(ours.output), facts(theirs.output));
      expectSame(await report(), theirReport);
      expect(ours.code).toBe(theirs.code);
    });
  }
});
