import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { findReference, type Subject } from "./commands.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce } from "./measure.ts";

/*
 * Configurations that are large in one respect, planned once by the built command and by the reference command, each with
 * a deadline. See BENCHMARKS.md.
 */

/** A configuration by its files. */
type Files = Readonly<Record<string, string>>;

/** What is large, with a size that a single plan takes seconds for. */
interface Shape {
  readonly name: string;
  readonly of: string;
  readonly size: number;
  readonly files: (size: number) => Files;
}

const SHAPES: readonly Shape[] = [
  {
    name: "plan of moved blocks",
    of: "blocks",
    size: 10_000,
    files: (size) => ({
      "main.tf": `resource "terraform_data" "b" {\n  count = 10\n}\n${times(
        size,
        (at) => `moved {\n  from = terraform_data.a[${at}]\n  to   = terraform_data.b[${at}]\n}\n`,
      )}`,
    }),
  },
  {
    name: "plan of a tree of modules",
    of: "modules",
    size: 999,
    files: () => ({
      "main.tf": calls(9, "./ten"),
      "ten/main.tf": calls(10, "../one"),
      "one/main.tf": calls(10, "../leaf"),
      "leaf/main.tf": 'resource "terraform_data" "a" {}\n',
    }),
  },
  {
    name: "plan of modules in one another",
    of: "modules",
    size: 30,
    files: (size) =>
      Object.fromEntries(
        Array.from({ length: size + 1 }, (_, at) => [
          at === 0 ? "main.tf" : `m${at}/main.tf`,
          at === size
            ? 'resource "terraform_data" "a" {}\n'
            : `module "m" {\n  source = "${at === 0 ? "./" : "../"}m${at + 1}"\n}\n`,
        ]),
      ),
  },
  {
    name: "plan of a module by a count of 100",
    of: "instances",
    size: 10_000,
    files: (size) => ({
      "main.tf": 'module "m" {\n  count  = 100\n  source = "./m"\n}\n',
      "m/main.tf": `resource "terraform_data" "a" {\n  count = ${size / 100}\n}\n`,
    }),
  },
  {
    name: "plan of one object that all others refer to",
    of: "blocks",
    size: 5_000,
    files: (size) => ({
      "main.tf": `resource "terraform_data" "one" {}\n${times(
        size,
        (at) => `resource "terraform_data" "r${at}" {\n  input = terraform_data.one.id\n}\n`,
      )}`,
    }),
  },
  {
    name: "plan of one object that refers to all others",
    of: "blocks",
    size: 5_000,
    files: (size) => ({
      "main.tf": `${times(size, (at) => `resource "terraform_data" "r${at}" {\n  input = ${at}\n}\n`)}resource "terraform_data" "one" {\n  input = [\n${times(size, (at) => `    terraform_data.r${at}.id,\n`)}  ]\n}\n`,
    }),
  },
  {
    name: "plan of a value",
    of: "bytes",
    size: 10_000_000,
    files: (size) => ({
      "main.tf": 'resource "terraform_data" "a" {\n  input = file("${path.module}/value.txt")\n}\n',
      "value.txt": "stackwright ".repeat(size / 12),
    }),
  },
];

const { values } = parseArgs({
  options: {
    /** Words of the names of what is measured. @default all */
    only: { type: "string" },
    /** After which a command is ended. */
    limit: { type: "string", default: "120" },
  },
});
const limitMs = Number(values.limit) * 1000;

const root = join(import.meta.dirname, "../..");
if (!existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}\n`,
);
await using scratch = await mkdtempDisposable(join(tmpdir(), "command-scale-"));
const command = await installBuilt(root, join(scratch.path, "installed"));
const env = { PATH: process.env.PATH, HOME: scratch.path, NO_COLOR: "1" };
const reference = findReference();
const subjects: readonly Subject[] = [
  { name: "stackwright", words: [process.execPath, command], env },
  ...(reference === undefined ? [] : [{ ...reference, env: { ...reference.env, ...env } }]),
];
console.log(
  `|                                              | ${subjects.map(({ name }) => `${name}: s, processor s, MiB`).join(" | ")} |`,
);
console.log(
  `| -------------------------------------------- | ${subjects.map(() => "---:").join(" | ")} |`,
);
for (const shape of SHAPES) {
  if (values.only !== undefined && !shape.name.includes(values.only)) continue;
  const runs: (Run | undefined)[] = [];
  for (const subject of subjects) runs.push(await planned(shape, subject));
  const cells = runs.map((run) =>
    run === undefined
      ? `not within ${values.limit} s`
      : `${(run.ms / 1000).toFixed(1)}, ${((run.cpuMs ?? Number.NaN) / 1000).toFixed(1)}, ${run.peakMiB?.toFixed(0)}`,
  );
  console.log(
    `| ${shape.name}, ${shape.size.toLocaleString("en-US")} ${shape.of} | ${cells.join(" | ")} |`,
  );
  record(shape, runs);
}

async function planned(
  shape: Shape,
  { name, words, env: given }: Subject,
): Promise<Run | undefined> {
  const cwd = join(scratch.path, "work");
  await rm(cwd, { recursive: true, force: true });
  for (const [path, text] of Object.entries(shape.files(shape.size))) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
  const limited = ["timeout", "--signal=KILL", String(limitMs / 1000), ...words];
  const options = { cwd, env: given };
  for (const phase of [["init"], ["plan"]]) {
    const run = await runOnce([...limited, ...phase], options);
    if (run.code === 137) return undefined;
    if (run.code !== 0)
      throw new Error(`${name} ${phase[0]} ended with ${run.code}: ${run.error.slice(0, 500)}`);
    if (phase[0] === "plan") return run;
  }
  return undefined;
}

function record({ name, size, of }: Shape, runs: readonly (Run | undefined)[]): void {
  const [ours, baseline] = runs;
  const [subject, peer] = subjects;
  if (ours === undefined || baseline === undefined || subject === undefined || peer === undefined)
    return;
  const kinds = [
    ["time", "ms", ({ ms }: Run) => ms],
    ["processor time", "ms", ({ cpuMs }: Run) => cpuMs],
    ["memory", "MiB", ({ peakMiB }: Run) => peakMiB],
  ] as const;
  for (const [kind, unit, pick] of kinds) {
    const [own, other] = [pick(ours), pick(baseline)];
    if (own === undefined || other === undefined) continue;
    recordFigure({
      name: `${name}, ${kind}`,
      unit,
      size,
      of,
      ours: spreadOf(subject.name, [own]),
      baseline: spreadOf(peer.name, [other]),
    });
  }
}

function times(count: number, text: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => text(at)).join("");
}

/** Calls of a module. */
function calls(count: number, source: string): string {
  return times(
    count,
    (at) => `module "m${at}" {
  source = "${source}"
}
`,
  );
}
