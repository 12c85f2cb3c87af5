import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import type { Subject } from "./commands.ts";
import { compareWithReference } from "./compare-with-reference.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce } from "./measure.ts";
import { startThrottledApi } from "./throttled-api.ts";

/*
 * Plans of resources whose service takes 80 ms for each read and 20 calls a second: the built command beside the reference command, in
 * turns. What it takes at best is the number of resources by the calls a second, but for those of the first second.
 */

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "500" },
    rounds: { type: "string", default: "3" },
    /** A built command in place of the one that `pnpm build` made. */
    command: { type: "string" },
  },
});
const size = Number(values.size);
const rounds = Number(values.rounds);
const API = { answerMs: 80, perSecond: 20 };

const root = join(import.meta.dirname, "../..");
if (values.command === undefined && !existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
await compareWithReference("command-latency", compare);

interface Round extends Run {
  readonly calls: number;
  readonly refused: number;
}

async function compare(scratch: string, peer: Subject): Promise<void> {
  await using api = await startThrottledApi(API);
  const command = values.command ?? (await installBuilt(root, join(scratch, "installed")));
  const env = { ...(await environment(scratch)), API_URL: api.url };
  const subjects: readonly Subject[] = [
    { name: "stackwright", words: [process.execPath, command], env },
    { ...peer, env: { ...env, CHECKPOINT_DISABLE: "1" } },
  ];
  const samples = subjects.map((): Round[] => []);
  for (const { name, words, env: own } of subjects) {
    const cwd = join(scratch, name.replaceAll(" ", "-"));
    await mkdir(cwd);
    await writeFile(join(cwd, "main.tf"), configuration());
    await done(name, [...words, "apply", "-auto-approve"], cwd, own);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { name, words, env: own }] of subjects.entries()) {
      api.take();
      const cwd = join(scratch, name.replaceAll(" ", "-"));
      const run = await done(name, [...words, "plan"], cwd, own);
      samples[index]?.push({ ...run, ...api.take() });
    }
  }
  print(subjects, samples);
}

/** The provider for both commands, in place of an installation. */
async function environment(scratch: string): Promise<NodeJS.ProcessEnv> {
  const folder = join(scratch, "provider");
  await mkdir(folder);
  const program = join(root, "bench/tfplugin/throttled-provider.ts");
  const text = `#!/bin/sh\nexec "${process.execPath}" "${program}"\n`;
  await writeFile(join(folder, "terraform-provider-slow"), text, { mode: 0o755 });
  const config = join(scratch, "cli.tfrc");
  await writeFile(
    config,
    `provider_installation {\n  dev_overrides {\n    "example.com/acme/slow" = "${folder}"\n  }\n  direct {}\n}\n`,
  );
  const { PATH } = process.env;
  return { PATH, HOME: scratch, NO_COLOR: "1", TF_CLI_CONFIG_FILE: config };
}

function configuration(): string {
  return [
    'terraform {\n  required_providers {\n    slow = { source = "example.com/acme/slow" }\n  }\n}\n',
    `resource "slow_thing" "a" {\n  count = ${size}\n  name  = "thing \${count.index}"\n}\n`,
  ].join("\n");
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

function print(subjects: readonly Subject[], samples: readonly (readonly Round[])[]): void {
  const kinds = [
    ["time", "ms", ({ ms }: Round) => ms],
    ["refused calls", "calls", ({ refused }: Round) => refused],
  ] as const;
  console.log(
    `\nA plan of ${size} resources, ${API.answerMs} ms a read, ${API.perSecond} calls a second: at best ${((size / API.perSecond - 1) * 1_000).toFixed(0)} ms\n`,
  );
  console.log(`|               | ${subjects.map(({ name }) => name).join(" | ")} | ratio |`);
  console.log(`| ------------- | ${subjects.map(() => "---:").join(" | ")} | ---: |`);
  for (const [kind, unit, pick] of kinds) {
    const [ours, baseline] = subjects.map(({ name }, index) =>
      spreadOf(name, (samples[index] ?? []).map(pick)),
    );
    if (ours === undefined || baseline === undefined) continue;
    recordFigure({
      name: `plan with ${API.answerMs} ms a read and ${API.perSecond} calls a second, ${kind}`,
      unit,
      size,
      of: "resources",
      ours,
      baseline,
    });
    const cells = [ours, baseline].map(
      ({ middle, least = middle, most = middle }) =>
        `${middle.toFixed(0)} (${least.toFixed(0)} to ${most.toFixed(0)}) ${unit}`,
    );
    const ratio = (ours.middle / baseline.middle).toFixed(2);
    console.log(`| ${kind.padEnd(13)} | ${cells.join(" | ")} | ${ratio}x |`);
  }
}
