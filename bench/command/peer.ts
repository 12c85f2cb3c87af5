import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import type { Subject } from "./commands.ts";
import { compareWithReference } from "./compare-with-reference.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce } from "./measure.ts";

/*
 * The built command beside the reference command, by number of instances: start to end, processor time with that of the
 * provider, most memory. Both take turns, each round in a fresh folder. See BENCHMARKS.md.
 */

const { values } = parseArgs({
  options: {
    /** Numbers of instances, each with how many rounds. */
    sizes: { type: "string", default: "1:7,100:5,1000:3,3000:1" },
    /** `terraform_data`, `null_resource` (with the program that `TEST_TOOL_TERRAFORM_PROVIDER_NULL` names), or both. */
    resource: { type: "string", default: "terraform_data,null_resource" },
  },
});

/** What is measured in a round, in this order. `target`: ours by the reference, where one is set for so many instances. */
const PHASES: readonly {
  readonly name: string;
  readonly words: readonly string[];
  readonly target?: Readonly<Record<number, number>>;
}[] = [
  { name: "validate", words: ["validate"] },
  { name: "first plan", words: ["plan"], target: { 1: 2 } },
  { name: "apply", words: ["apply", "-auto-approve"], target: { 1000: 0.25, 3000: 0.1 } },
  { name: "no-op plan", words: ["plan"], target: { 1000: 0.7, 3000: 0.4 } },
  { name: "destroy", words: ["destroy", "-auto-approve"] },
];

/** One version, so that both commands take the package from the folder and ask no registry. */
const NULL_VERSION = "3.2.4";

const root = join(import.meta.dirname, "../..");
if (!existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
await compareWithReference("command-peer", compare);

async function compare(scratch: string, peer: Subject): Promise<void> {
  const command = await installBuilt(root, join(scratch, "installed"));
  const { PATH } = process.env;
  const config = join(scratch, "cli.tfrc");
  const mirror = join(scratch, "mirror");
  await writeFile(
    config,
    `provider_installation {\n  filesystem_mirror {\n    path = "${mirror}"\n  }\n}\n`,
  );
  const program = await nullProvider(mirror);
  const env = { PATH, HOME: scratch, NO_COLOR: "1", TF_CLI_CONFIG_FILE: config };
  const subjects: readonly Subject[] = [
    { name: "stackwright", words: [process.execPath, command], env },
    { ...peer, env: { ...env, CHECKPOINT_DISABLE: "1" } },
  ];
  await versions(scratch, subjects);
  for (const resource of values.resource.split(",")) {
    if (resource === "null_resource" && !program) {
      console.log("\nnull_resource: skipped, TEST_TOOL_TERRAFORM_PROVIDER_NULL is not set");
      continue;
    }
    for (const text of values.sizes.split(",")) {
      const [size = 1, rounds = 1] = text.split(":").map(Number);
      report(resource, size, subjects, await measure(scratch, subjects, resource, size, rounds));
    }
  }
}

/** The program in the layout of a mirror; false where there is none. */
async function nullProvider(mirror: string): Promise<boolean> {
  const program = process.env.TEST_TOOL_TERRAFORM_PROVIDER_NULL;
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const folder = join(mirror, "registry.terraform.io/hashicorp/null", NULL_VERSION, platform);
  await mkdir(folder, { recursive: true });
  if (program === undefined) return false;
  const target = join(folder, `terraform-provider-null_v${NULL_VERSION}`);
  await copyFile(program, target);
  await chmod(target, 0o755);
  return true;
}

/** What starting costs. */
async function versions(scratch: string, subjects: readonly Subject[]): Promise<void> {
  const samples = subjects.map((): Run[] => []);
  for (let round = 0; round <= 20; round += 1) {
    for (const [index, { words, env }] of subjects.entries()) {
      const run = await runOnce([...words, "version"], { cwd: scratch, env });
      // The first fills the cache of compiled code.
      if (round > 0) samples[index]?.push(run);
    }
  }
  print("version", 1, "start", subjects, samples, 2);
}

async function measure(
  scratch: string,
  subjects: readonly Subject[],
  resource: string,
  size: number,
  rounds: number,
): Promise<ReadonlyMap<string, readonly (readonly Run[])[]>> {
  const argument = resource === "null_resource" ? "triggers = { text =" : "input = { text =";
  const text = `resource "${resource}" "a" {\n  count = ${size}\n  ${argument} "item \${count.index}" }\n}\n`;
  const found = new Map(PHASES.map(({ name }) => [name, subjects.map((): Run[] => [])]));
  const folders = subjects.map((_, index) => join(scratch, `prepared-${index}`));
  for (const [index, { name, words, env }] of subjects.entries()) {
    const cwd = folders[index] ?? "";
    await rm(cwd, { recursive: true, force: true });
    await mkdir(cwd);
    await writeFile(join(cwd, "main.tf"), text);
    await done(name, [...words, "init"], cwd, env);
  }
  // One round more, which is not counted, where there are several.
  for (let round = rounds > 1 ? -1 : 0; round < rounds; round += 1) {
    for (const [index, { name, words, env }] of subjects.entries()) {
      const cwd = join(scratch, "work");
      await rm(cwd, { recursive: true, force: true });
      await cp(folders[index] ?? "", cwd, { recursive: true, verbatimSymlinks: true });
      for (const phase of PHASES) {
        const run = await done(name, [...words, ...phase.words], cwd, env);
        if (round >= 0) found.get(phase.name)?.[index]?.push(run);
      }
    }
  }
  return found;
}

async function done(
  name: string,
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Run> {
  const run = await runOnce(words, { cwd, env });
  if (run.code === 0) return run;
  throw new Error(`${name} ${words.at(-1)} ended with ${run.code}: ${run.error}`);
}

function report(
  resource: string,
  size: number,
  subjects: readonly Subject[],
  phases: ReadonlyMap<string, readonly (readonly Run[])[]>,
): void {
  for (const { name, target } of PHASES) {
    const limit = resource === "null_resource" || size === 1 ? target?.[size] : undefined;
    print(`${name} of ${resource}`, size, "instances", subjects, phases.get(name) ?? [], limit);
  }
}

/** Prints the three figures of a phase, and records them. */
function print(
  name: string,
  size: number,
  of: string,
  subjects: readonly Subject[],
  samples: readonly (readonly Run[])[],
  target: number | undefined,
): void {
  const kinds = [
    ["time", "ms", ({ ms }: Run) => ms],
    ["processor time", "ms", ({ cpuMs }: Run) => cpuMs],
    ["memory", "MiB", ({ peakMiB }: Run) => peakMiB],
  ] as const;
  console.log(`\n${name}, ${size.toLocaleString("en-US")} ${of}\n`);
  console.log(`|                | ${subjects.map(({ name: who }) => who).join(" | ")} | ratio |`);
  console.log(`| -------------- | ${subjects.map(() => "---:").join(" | ")} | ---: |`);
  for (const [kind, unit, pick] of kinds) {
    const [ours, baseline] = subjects.map(({ name: who }, index) => {
      const numbers = (samples[index] ?? []).map(pick).filter((one) => one !== undefined);
      return numbers.length === 0 ? undefined : spreadOf(who, numbers);
    });
    if (ours === undefined || baseline === undefined) continue;
    const limit = kind === "time" ? target : undefined;
    recordFigure({
      name: `${name}, ${kind}`,
      unit,
      size,
      of,
      ours,
      baseline,
      ...(limit !== undefined && { target: limit }),
    });
    const cells = [ours, baseline].map(
      ({ middle, least = middle, most = middle }) =>
        `${middle.toFixed(0)} (${least.toFixed(0)} to ${most.toFixed(0)}) ${unit}`,
    );
    const ratio = (ours.middle / baseline.middle).toFixed(2);
    console.log(`| ${kind.padEnd(14)} | ${cells.join(" | ")} | ${ratio}x |`);
  }
}
