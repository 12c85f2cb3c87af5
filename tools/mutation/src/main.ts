import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hitsFolder, judgesOf, type Measurement, measureTests } from "./measure.ts";
import { type Mutant, mutantsOf } from "./mutants-of.ts";
import { type MutantResult, renderReport } from "./report.ts";
import { Sandbox } from "./sandbox.ts";
import { TARGETS, type Target } from "./targets.ts";
import { TestRunner } from "./test-runner.ts";

const HELP = `usage: node tools/mutation/src/main.ts [--only TARGET,...] [--sample N] [--seed N] [--minutes N] [--judge-seconds N] [--least N] [--report]

Changes the sources of each target at one place at a time, in a copy of the repository, and runs the unit tests that call
the changed function. A change that no test notices is a survivor: a missing test, a line that is not needed, or a
change without an effect, which is then listed with its reason in tools/mutation/equivalents.json.

  --sample N    changes for each target, chosen by the seed (default 40)
  --minutes N   begins no change after N minutes; the next call at the same commit continues from there
  --judge-seconds N
                of the tests that call a changed function, as many are run as take this long without the change (default
                25). On a busy machine the same tests take longer, and fewer would judge: give more
  --least N     ends with 1 where a target notices less than N of 100 changes (default 100)
  --report      runs nothing: prints what the runs at this commit found

Targets:
${TARGETS.map(({ name, sources }) => `  ${name.padEnd(8)} ${sources.join(", ")}`).join("\n")}
`;

/** A test file that takes longer than this without a change judges nothing. */
const MEASURE_MS = 90_000;
/** So often the tests judge the source without a change: a sandbox in which they fail anyway would notice everything. */
const CONTROL_EVERY = 5;

const root = join(import.meta.dirname, "..", "..", "..");
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    sample: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "600" },
    "judge-seconds": { type: "string", default: "25" },
    least: { type: "string", default: "100" },
    report: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
const only = values.only?.split(",");
const targets = TARGETS.filter(({ name }) => only?.includes(name) ?? true);
const sample = Number(values.sample);
const minutes = Number(values.minutes);
const judgesMs = Number(values["judge-seconds"]) * 1_000;
const least = Number(values.least);
if (
  values.help ||
  targets.length === 0 ||
  !(sample > 0) ||
  !(minutes > 0) ||
  !(judgesMs > 0) ||
  !(least >= 0)
) {
  process.stdout.write(HELP);
  process.exitCode = values.help ? 0 : 2;
} else {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  const folder = join(root, ".reports", "mutation", commit.slice(0, 12));
  mkdirSync(folder, { recursive: true });
  if (!values.report) await mutate(folder, performance.now() + minutes * 60_000);
  const results = targets.map(({ name }) => ({ name, results: readResults(folder, name) }));
  const report = renderReport(results, readEquivalents());
  writeFileSync(join(folder, "report.md"), report.text);
  process.stdout.write(report.text);
  process.exitCode ||= report.lowest >= least ? 0 : 1;
}

async function mutate(folder: string, end: number): Promise<void> {
  using sandbox = new Sandbox(root);
  for (const target of targets) {
    const hits = hitsFolder();
    try {
      await using runner = new TestRunner(sandbox.root, target, hits);
      process.stderr.write(`${target.name}: measuring tests\n`);
      const measured = await measureTests(
        sandbox.root,
        sourcesOf(target),
        runner,
        hits,
        (test) => target.tests?.some((begin) => test.startsWith(begin)) ?? true,
        MEASURE_MS,
      );
      process.stderr.write(`  ${measured.milliseconds.size} test files\n`);
      await mutateTarget(target, { sandbox, runner, measured, folder, end });
    } finally {
      rmSync(hits, { recursive: true, force: true });
    }
  }
}

async function mutateTarget(
  target: Target,
  on: {
    readonly sandbox: Sandbox;
    readonly runner: TestRunner;
    readonly measured: Measurement;
    readonly folder: string;
    readonly end: number;
  },
): Promise<void> {
  const done = new Set(readResults(on.folder, target.name).map(({ id }) => id));
  let tried = 0;
  for (const { path, source, mutant } of choose(target)) {
    if (done.has(mutant.id)) continue;
    if (performance.now() > on.end) return;
    const file = join(on.sandbox.root, path);
    const judges = target.threads?.[path] ?? judgesOf(on.measured, path, mutant.owner, judgesMs);
    if (tried++ % CONTROL_EVERY === 0) {
      const control = await judge(judges.slice(0, 3), on);
      if (control === "failed" || control === "late") {
        throw new Error(`${judges.slice(0, 3).join(", ")}: ${control} without a change`);
      }
    }
    const text = source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end);
    writeFileSync(file, text);
    on.runner.changed(file);
    const outcome = await judge(judges, on);
    writeFileSync(file, source);
    on.runner.changed(file);
    const { id, kind, line, before, after } = mutant;
    const result: MutantResult = { id, path, kind, line, before, after, outcome };
    appendFileSync(resultFile(on.folder, target.name), `${JSON.stringify(result)}\n`);
    process.stderr.write(`${outcome.padEnd(10)} ${path}:${line} ${kind}\n`);
  }
}

async function judge(
  judges: readonly string[],
  { runner, measured }: { readonly runner: TestRunner; readonly measured: Measurement },
): Promise<MutantResult["outcome"]> {
  for (const test of judges) {
    const usual = measured.milliseconds.get(test) ?? 0;
    const { outcome } = await runner.run(test, usual * 3 + 15_000);
    if (outcome !== "passed") return outcome;
  }
  return judges.length === 0 ? "not called" : "survived";
}

/** The mutants of the sample: the same ones for the same seed and sources. */
function choose(target: Target): { path: string; source: string; mutant: Mutant }[] {
  const rank = (id: string): string =>
    createHash("sha256").update(`${values.seed}:${id}`).digest("hex");
  return sourcesOf(target)
    .flatMap((path) => {
      const source = readFileSync(join(root, path), "utf8");
      return mutantsOf(path, source).map((mutant) => ({ path, source, mutant }));
    })
    .toSorted((left, right) => (rank(left.mutant.id) < rank(right.mutant.id) ? -1 : 1))
    .slice(0, sample);
}

function sourcesOf({ sources }: Target): string[] {
  return sources
    .flatMap((path) =>
      statSync(join(root, path)).isDirectory()
        ? globSync(`${path}/**/*.ts`, { cwd: root }).map((name) => name.replaceAll("\\", "/"))
        : [path],
    )
    .filter((path) => !path.endsWith(".test.ts") && !path.endsWith("/index.ts"))
    .toSorted();
}

function resultFile(folder: string, target: string): string {
  return join(folder, `${target}-${values.seed}.jsonl`);
}

function readResults(folder: string, target: string): MutantResult[] {
  const path = resultFile(folder, target);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as MutantResult);
}

/** Survivors that change nothing that a test could see, by id, with the reason. */
function readEquivalents(): Readonly<Record<string, string>> {
  const path = join(import.meta.dirname, "..", "equivalents.json");
  return JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
}
