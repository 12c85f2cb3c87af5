import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

// Runs every example that is a program of its own, one after the other, and says what each one did; with the path of a
// file also there, as JSON. An example that lacks something here says so in its last line and exits with 77.
const SKIPPED = 77;
const [report] = process.argv.slice(2);
const root = join(import.meta.dirname, "..", "..");
const examples = readdirSync(join(root, "examples"))
  .toSorted()
  .filter((name) => existsSync(join(root, "examples", name, "main.ts")));

let passed = 0;
const failed: string[] = [];
const skipped: string[] = [];
for (const name of examples) {
  process.stdout.write(`\n--- examples/${name}\n`);
  const file = join(root, "examples", name, "main.ts");
  const { status, stdout } = spawnSync(process.execPath, [file], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    timeout: 120_000,
  });
  process.stdout.write(stdout);
  if (status === 0) passed += 1;
  else if (status === SKIPPED) skipped.push(`${name}: ${stdout.trim().split("\n").at(-1)}`);
  else failed.push(`${name} ended with ${status}`);
}
if (examples.length === 0) failed.push("there are no examples");
process.stdout.write(`\n${passed} of ${examples.length} examples ran.\n`);
for (const line of [...skipped, ...failed]) process.stdout.write(`${line}\n`);
if (report !== undefined) writeFileSync(report, JSON.stringify({ passed, failed, skipped }));
if (failed.length > 0) process.exitCode = 1;
