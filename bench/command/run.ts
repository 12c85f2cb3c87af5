import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chains, findReference, independent, PHASES, type Subject } from "./commands.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce, spread } from "./measure.ts";

const { values } = parseArgs({
  options: {
    /** Numbers of instances. */
    sizes: { type: "string", default: "10,1000" },
    /** How often what changes nothing is run. */
    runs: { type: "string", default: "5" },
    /** `independent` or `chains`. */
    shape: { type: "string", default: "independent" },
    /** Without the reference command. */
    alone: { type: "boolean", default: false },
  },
});

const root = join(import.meta.dirname, "../..");
if (!existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
const scratch = await mkdtemp(join(tmpdir(), "command-bench-"));
try {
  const command = await installBuilt(root, join(scratch, "installed"));
  const { PATH } = process.env;
  const ours: Subject = {
    name: "stackwright",
    words: [process.execPath, command],
    env: { PATH, HOME: scratch, NO_COLOR: "1" },
  };
  const cold: Subject = {
    ...ours,
    name: "stackwright, nothing compiled yet",
    env: { ...ours.env, NODE_DISABLE_COMPILE_CACHE: "1" },
  };
  const reference = values.alone ? undefined : findReference();
  if (reference === undefined) console.log("without the reference command\n");
  for (const size of values.sizes.split(",").map(Number)) {
    const text = values.shape === "chains" ? chains(size) : independent(size);
    console.log(`${size} instances, ${values.shape}`);
    const base = reference && (await measure(reference, text));
    for (const subject of [ours, cold]) report(subject, await measure(subject, text), base);
    if (reference !== undefined && base !== undefined) report(reference, base, undefined);
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}

/** All phases in a folder of their own. */
async function measure(
  subject: Subject,
  text: string,
): Promise<ReadonlyMap<string, readonly Run[]>> {
  const cwd = join(scratch, "work");
  await rm(cwd, { recursive: true, force: true });
  await mkdir(cwd);
  await writeFile(join(cwd, "main.tf"), text);
  const options = { cwd, env: subject.env };
  const one = async (words: readonly string[]): Promise<Run> => {
    const run = await runOnce([...subject.words, ...words], options);
    if (run.code === 0) return run;
    throw new Error(`${subject.name} ${words.join(" ")} ended with ${run.code}: ${run.error}`);
  };
  await one(["init"]);
  const found = new Map<string, Run[]>();
  for (const { name, words, repeat } of PHASES) {
    const runs: Run[] = [];
    // Once for what is kept between runs.
    if (repeat) await one(words);
    for (let at = 0; at < (repeat ? Number(values.runs) : 1); at += 1) runs.push(await one(words));
    found.set(name, runs);
  }
  return found;
}

function report(
  { name: subject }: Subject,
  phases: ReadonlyMap<string, readonly Run[]>,
  base: ReadonlyMap<string, readonly Run[]> | undefined,
): void {
  console.log(`\n${subject}`);
  const line = (name: string, cells: readonly string[]): void =>
    console.log(`  ${name.padEnd(20)}${cells.map((cell) => cell.padStart(16)).join("")}`);
  line("", ["ms", "least to most", "first output ms", "peak MiB", "reference / ours"]);
  for (const [name, runs] of phases) {
    const { middle, least, most } = spread(runs.map(({ ms }) => ms));
    const first = spread(runs.map(({ firstMs }) => firstMs)).middle;
    const peaks = runs.map(({ peakMiB }) => peakMiB ?? Number.NaN);
    const other = base?.get(name)?.map(({ ms }) => ms);
    line(name, [
      middle.toFixed(0),
      `${least.toFixed(0)} to ${most.toFixed(0)}`,
      Number.isNaN(first) ? "-" : first.toFixed(0),
      Number.isNaN(peaks[0]) ? "-" : Math.max(...peaks).toFixed(0),
      other === undefined ? "-" : `${(spread(other).middle / middle).toFixed(2)}x`,
    ]);
  }
  console.log("");
}
