import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runOnce } from "./measure.ts";

const { values } = parseArgs({
  options: {
    bytes: { type: "string", default: "10000000" },
    runs: { type: "string", default: "3" },
  },
});
const bytes = Number(values.bytes);
const runs = Number(values.runs);

await using scratch = await mkdtempDisposable(join(tmpdir(), "large-attribute-"));
const cwd = join(scratch.path, "configuration");
const home = join(scratch.path, "home");
await mkdir(cwd);
await writeFile(
  join(cwd, "main.tf"),
  'variable "file" { type = string }\nresource "terraform_data" "x" {\n  input = file(var.file)\n}\n',
);
await writeFile(join(cwd, "small.txt"), "x");
await writeFile(join(cwd, "large.txt"), Buffer.alloc(bytes, "stackwright "));

const command = join(import.meta.dirname, "../../apps/cli/src/main.ts");

async function leastPeak(words: readonly string[], file: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    await rm(join(cwd, ".stackwright"), { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
    await mkdir(home);
    const { peakMiB, code, error } = await runOnce(
      [process.execPath, command, ...words, `-var=file=${file}`],
      { cwd, env: { ...process.env, HOME: home } },
    );
    if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${error}`);
    if (peakMiB === undefined) throw new Error("GNU time (/usr/bin/time) is required");
    least = Math.min(least, peakMiB);
  }
  return least;
}

console.log(`value of ${bytes} bytes, smallest peak of ${runs} runs, MiB`);
for (const words of [["plan"], ["up", "-y"]]) {
  const small = await leastPeak(words, "small.txt");
  const large = await leastPeak(words, "large.txt");
  const perByte = ((large - small) * 1024 * 1024) / bytes;
  console.log(
    `${(words[0] ?? "").padEnd(6)} one byte ${small.toFixed(0)}, large ${large.toFixed(0)}: ${perByte.toFixed(1)} bytes per byte`,
  );
}
