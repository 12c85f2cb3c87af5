import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs, promisify } from "node:util";
import type { Deviation } from "../differential/compare.ts";
import { ProviderMirror } from "../differential/provider-mirror.ts";
import { compareCase, writeCase } from "./compare-case.ts";
import type { GeneratedCase } from "./configuration-tree.ts";
import { generateCase } from "./generate-case.ts";
import { readIntended, unexplained } from "./intended.ts";
import { reduceCase } from "./reduce-case.ts";

const USAGE = `node e2e/src/generator/main.ts [options]

Generates configurations, runs each with the real command and with ours, and compares plans, states, outputs and errors. A
difference is reduced to a small configuration. The first SIGINT or SIGTERM ends it behind the cases that have begun, with its report.

  --seed N         the number of the first case (1)
  --count N        how many cases (20)
  --wide             cases with more of the language, which are other ones for the same numbers; see generate-case.ts
  --jobs N         cases at the same time (the number of processors)
  --reduce N       most smaller cases that are tried for one difference; 0 reduces nothing (60)
  --out FOLDER     where the cases with differences are written, as cases of e2e/cases (.reports/generated)
  --report FILE    what came of it, as JSON
  --terraform CMD  the real command (TEST_TERRAFORM, else terraform)`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "20" },
    jobs: { type: "string", default: String(Math.max(1, availableParallelism())) },
    reduce: { type: "string", default: "60" },
    out: { type: "string", default: ".reports/generated" },
    report: { type: "string" },
    wide: { type: "boolean", default: false },
    terraform: { type: "string", default: process.env["TEST_TERRAFORM"] ?? "terraform" },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (values.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}

const numberOf = (name: "seed" | "count" | "jobs" | "reduce", least: number): number => {
  const number = Number(values[name]);
  if (!Number.isSafeInteger(number) || number < least) {
    process.stderr.write(`--${name} takes a whole number from ${least}: ${values[name]}\n`);
    process.exit(2);
  }
  return number;
};
const seed = numberOf("seed", 0);
const count = numberOf("count", 1);
const jobs = numberOf("jobs", 1);
const limit = numberOf("reduce", 0);
const { terraform, out } = values;

const version = await promisify(execFile)(terraform, ["version"]).catch(() => undefined);
if (version === undefined) {
  process.stderr.write(`${terraform} cannot be run on this machine; name it with --terraform\n`);
  process.exit(2);
}

const intended = readIntended(resolve(import.meta.dirname, "../../intended-differences.json"));
const cases = Array.from({ length: count }, (_, at) => generateCase(seed + at, values.wide));
await using mirror = await ProviderMirror.make(cases.flatMap(({ needs }) => needs));
const queue = [...cases];
const results = new Map<string, number>();
const skipped: string[] = [];
const differences: { name: string; deviations: readonly Deviation[] }[] = [];
const options = { terraform, configuration: mirror.configuration };
/** Cases that were not run, as the run was to end. */
let left = 0;

async function judge(test: GeneratedCase): Promise<void> {
  const reason = mirror.reasonAgainst(test.needs);
  if (reason !== undefined) {
    skipped.push(`${test.name}: ${reason}`);
    return;
  }
  const found = await deviationsOf(test);
  results.set(found.result, (results.get(found.result) ?? 0) + 1);
  const [first] = found.deviations;
  if (first === undefined) return;
  const kind = kindOf(first);
  const small = await reduceCase(
    test,
    async (smaller) => (await deviationsOf(smaller)).deviations.some((one) => kindOf(one) === kind),
    { limit },
  );
  const { deviations } = await deviationsOf(small);
  differences.push({ name: test.name, deviations });
  const folder = join(out, test.name);
  mkdirSync(folder, { recursive: true });
  await writeCase(small, folder);
  writeFileSync(
    join(folder, "case.json"),
    `${JSON.stringify({ title: test.name, needs: small.needs, final_destroy: small.finalDestroy ?? false })}\n`,
  );
  const lines = deviations.map(({ step, field, message }) => `  ${step} ${field}: ${message}`);
  process.stdout.write(`DIFFERENT ${test.name} (${folder})\n${lines.join("\n")}\n`);
}

/** What the commands did differently; a case that one of them could not run is a difference as well. */
async function deviationsOf(
  test: GeneratedCase,
): Promise<{ readonly deviations: readonly Deviation[]; readonly result: string }> {
  try {
    const { deviations, result } = await compareCase(test, options);
    return { deviations: unexplained(deviations, intended), result };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { deviations: [{ step: "", field: "run", message }], result: "not run" };
  }
}

/** What stays the same while a case gets smaller: the field without names. */
function kindOf({ field }: Deviation): string {
  return field
    .replace(/^plan (?!output\.)\S+?(\.\w+)?$/, "plan$1")
    .replace(/^plan output\.\w+/, "plan output")
    .replace(/^outputs\.\w+/, "outputs")
    .replace(/^state \S+?(\.\w+)?$/, "state$1");
}

async function work(): Promise<void> {
  for (let test = queue.shift(); test !== undefined; test = queue.shift()) await judge(test);
}

/** The cases that have begun are ended, and what came of them is reported. */
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    left = queue.splice(0).length;
  });
}

await Promise.all(Array.from({ length: jobs }, work));
if (values.report !== undefined) {
  const report = {
    seed,
    count: cases.length - left,
    results: Object.fromEntries(results),
    skipped,
    differences,
  };
  writeFileSync(values.report, `${JSON.stringify(report, undefined, 2)}\n`);
}
const ends = [...results].map(([result, times]) => `${times} ${result}`).join(", ");
process.stdout.write(
  `${cases.length - left} cases from ${seed}: ${differences.length} different, ${skipped.length} skipped (${ends})\n`,
);
process.exitCode = differences.length > 0 ? 1 : 0;
