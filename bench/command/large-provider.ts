import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import type { Subject } from "./commands.ts";
import { compareWithReference } from "./compare-with-reference.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce } from "./measure.ts";

/*
 * One resource of a large provider, which calls no service: the AWS provider of a file-system mirror, planned and validated by
 * the built command and the reference command in turns, with everything kept from a round before. See BENCHMARKS.md.
 */

const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const VERSION = "5.100.0";
const PROVIDER = `registry.terraform.io/hashicorp/aws/${VERSION}`;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);

const PHASES: readonly {
  readonly words: readonly string[];
  /** Time by that of the reference. */
  readonly target?: number;
}[] = [{ words: ["plan"], target: 0.6 }, { words: ["validate"] }];

const KINDS = [
  ["time", "ms", ({ ms }: Run) => ms],
  ["processor time", "ms", ({ cpuMs }: Run) => cpuMs],
  ["memory", "MiB", ({ peakMiB }: Run) => peakMiB],
] as const;

const CONFIGURATION = `
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "${VERSION}"
    }
  }
}

provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}

resource "aws_sqs_queue" "a" {
  name = "a"
}
`;

const root = join(import.meta.dirname, "../..");
if (!existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
if (existsSync(join(MIRROR, PROVIDER))) await compareWithReference("command-provider", compare);
else console.log(`skipped: ${MIRROR} has no ${PROVIDER}`);

async function compare(scratch: string, peer: Subject): Promise<void> {
  const command = await installBuilt(root, join(scratch, "installed"));
  const config = join(scratch, "cli.tfrc");
  await writeFile(
    config,
    `provider_installation {\n  filesystem_mirror {\n    path = "${MIRROR}"\n  }\n}\n`,
  );
  const { PATH } = process.env;
  const env = {
    PATH,
    HOME: scratch,
    NO_COLOR: "1",
    TF_CLI_CONFIG_FILE: config,
    CHECKPOINT_DISABLE: "1",
  };
  const subjects: readonly Subject[] = [
    { name: "stackwright", words: [process.execPath, command], env },
    { ...peer, env },
  ];
  const cwdOf = ({ name }: Subject): string => join(scratch, name.replaceAll(" ", "-"));
  for (const subject of subjects) {
    await mkdir(cwdOf(subject));
    await writeFile(join(cwdOf(subject), "main.tf"), CONFIGURATION);
    await done(subject, ["init"], cwdOf(subject));
  }
  for (const { words, target } of PHASES) {
    const samples = subjects.map((): Run[] => []);
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [index, subject] of subjects.entries()) {
        const run = await done(subject, words, cwdOf(subject));
        // The first fills caches: schemas, digests of packages, compiled code.
        if (round > 0) samples[index]?.push(run);
      }
    }
    report(words.join(" "), subjects, samples, target);
  }
}

async function done(
  { name, words, env }: Subject,
  more: readonly string[],
  cwd: string,
): Promise<Run> {
  const run = await runOnce([...words, ...more], { cwd, env });
  if (run.code === 0) return run;
  throw new Error(`${name} ${more.join(" ")} ended with ${run.code}: ${run.error}`);
}

function report(
  phase: string,
  subjects: readonly Subject[],
  samples: readonly (readonly Run[])[],
  target: number | undefined,
): void {
  const title = `${phase} of one resource of AWS`;
  console.log(`\n${title}\n\n|  | ${subjects.map(({ name }) => name).join(" | ")} | ratio |`);
  console.log(`|---|${"---:|".repeat(subjects.length + 1)}`);
  for (const [kind, unit, pick] of KINDS) {
    const [ours, baseline] = subjects.map(({ name }, index) => {
      const numbers = (samples[index] ?? []).map(pick).filter((one) => one !== undefined);
      return numbers.length === 0 ? undefined : spreadOf(name, numbers);
    });
    if (ours === undefined || baseline === undefined) continue;
    const limit = kind === "time" ? target : undefined;
    recordFigure({
      name: `${title}, ${kind}`,
      unit,
      size: 1,
      of: "resource",
      ours,
      baseline,
      ...(limit !== undefined && { target: limit }),
    });
    const cells = [ours, baseline].map(({ middle }) => `${middle.toFixed(0)} ${unit}`);
    console.log(
      `| ${kind} | ${cells.join(" | ")} | ${(ours.middle / baseline.middle).toFixed(2)} |`,
    );
  }
}
