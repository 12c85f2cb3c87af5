import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { findReference, type Subject } from "./commands.ts";
import { installBuilt } from "./installation.ts";
import { type Run, runOnce } from "./measure.ts";

/*
 * Modules from archives, each of its own: installed and loaded by the built command and by the reference command, which take turns.
 * See BENCHMARKS.md.
 */

const { values } = parseArgs({
  options: {
    modules: { type: "string", default: "200" },
    runs: { type: "string", default: "3" },
  },
});
const count = Number(values.modules);
const runs = Number(values.runs);

/** One archive for each module, so that nothing is fetched once for many. */
async function packModules(folder: string): Promise<Map<string, Buffer>> {
  const archives = new Map<string, Buffer>();
  for (let at = 0; at < count; at++) {
    const source = join(folder, `m${at}`);
    await mkdir(source);
    const text = `variable "in" {}\nresource "terraform_data" "x" {\n  input = "\${var.in} ${at}"\n}\noutput "out" { value = terraform_data.x.output }\n`;
    await writeFile(join(source, "main.tf"), text);
    execFileSync("tar", ["-czf", `${source}.tar.gz`, "-C", source, "."]);
    archives.set(`/m${at}.tar.gz`, await readFile(`${source}.tar.gz`));
  }
  return archives;
}

await using scratch = await mkdtempDisposable(join(tmpdir(), "install-modules-"));
const archives = await packModules(scratch.path);
const server = createServer((request, response) => {
  const body = archives.get(new URL(request.url ?? "/", "http://h.test").pathname);
  response.writeHead(body === undefined ? 404 : 200).end(request.method === "HEAD" ? "" : body);
});
server.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const root = join(import.meta.dirname, "../..");
if (!existsSync(join(root, "apps/cli/dist/command.bundle"))) {
  throw new Error("there is nothing built: pnpm build");
}
const reference = findReference();
if (reference === undefined) throw new Error("the reference command 1.11 is not installed");
const cache = join(scratch.path, "cache");
const command = await installBuilt(root, join(scratch.path, "installed"));
const { PATH } = process.env;
const env = { PATH, HOME: scratch.path, NO_COLOR: "1", STACKWRIGHT_MODULE_CACHE: cache };
const ours: Subject = { name: "stackwright", words: [process.execPath, command], env };
const subjects = [ours, { ...reference, env: { ...env, ...reference.env } }];

const LOCK = ".stackwright.modules.lock.hcl";
/** In this order in a folder; `removed`: what is not there before each run. `ours`: the reference command has no such cache. */
const STEPS: readonly {
  readonly name: string;
  readonly word: string;
  readonly removed: readonly string[];
  /** Whether what the cache has may be used. @default true */
  readonly cached?: boolean;
  readonly ours?: boolean;
  /** How many times what the reference command takes ours is to take at most. */
  readonly target?: number;
}[] = [
  {
    name: "init, nothing there",
    word: "init",
    removed: [".terraform", LOCK],
    cached: false,
    target: 1.5,
  },
  { name: "init, all in the cache", word: "init", removed: [".terraform"], ours: true },
  { name: "init, all installed", word: "init", removed: [] },
  { name: "validate", word: "validate", removed: [] },
  { name: "plan of a resource in each", word: "plan", removed: [] },
];

const calls = Array.from(
  { length: count },
  (_, at) => `module "m${at}" {\n  source = "${url}/m${at}.tar.gz"\n  in     = "x"\n}\n`,
);
for (const { name } of subjects) {
  await mkdir(join(scratch.path, name));
  await writeFile(join(scratch.path, name, "main.tf"), calls.join("\n"));
}

console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
);
console.log(
  `${count} modules from ${count} archives, ${runs} rounds: middle (least to most), ms\n`,
);
console.log(`| step | figure | ${subjects.map(({ name }) => name).join(" | ")} | ratio |`);
console.log("| --- | --- | ---: | ---: | ---: |");
for (const step of STEPS) {
  const { word, removed, cached = true, ours: oursAlone = false } = step;
  const samples = subjects.map((): Run[] => []);
  // One round more, which is not counted: it fills the cache of compiled code.
  for (let round = -1; round < runs; round += 1) {
    for (const [index, subject] of subjects.entries()) {
      if (oursAlone && subject !== ours) continue;
      const cwd = join(scratch.path, subject.name);
      for (const path of removed) await rm(join(cwd, path), { recursive: true, force: true });
      if (!cached && subject === ours) await rm(cache, { recursive: true, force: true });
      const run = await runOnce([...subject.words, word], { cwd, env: subject.env });
      if (run.code !== 0)
        throw new Error(`${subject.name} ${word} ended with ${run.code}: ${run.error}`);
      if (round >= 0) samples[index]?.push(run);
    }
  }
  report(step, "time", samples, ({ ms }) => ms);
  report(step, "processor time", samples, ({ cpuMs }) => cpuMs);
}
server.close();

function report(
  { name, target }: (typeof STEPS)[number],
  figure: string,
  samples: readonly (readonly Run[])[],
  pick: (run: Run) => number | undefined,
): void {
  const [own, other] = subjects.map((subject, index) => {
    const numbers = (samples[index] ?? []).flatMap((run) => pick(run) ?? []);
    return numbers.length === 0 ? undefined : spreadOf(subject.name, numbers);
  });
  const cells = [own, other].map((one) =>
    one === undefined
      ? "-"
      : `${one.middle.toFixed(0)} (${one.least?.toFixed(0)} to ${one.most?.toFixed(0)})`,
  );
  const isCompared = own !== undefined && other !== undefined;
  const ratio = isCompared ? `${(own.middle / other.middle).toFixed(2)}x` : "-";
  console.log(`| ${name} | ${figure} | ${cells.join(" | ")} | ${ratio} |`);
  if (!isCompared) return;
  recordFigure({
    name: `modules from archives, ${name}, ${figure}`,
    unit: "ms",
    size: count,
    of: "modules",
    ours: own,
    baseline: other,
    ...(target !== undefined && { target }),
  });
}
