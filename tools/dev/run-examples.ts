import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

// Runs every example that is a program of its own, one after the other, and says what each one did.
const root = join(import.meta.dirname, "..", "..");
const examples = readdirSync(join(root, "examples"))
  .toSorted()
  .filter((name) => existsSync(join(root, "examples", name, "main.ts")));

const failed: string[] = [];
for (const name of examples) {
  process.stdout.write(`\n--- examples/${name}\n`);
  const file = join(root, "examples", name, "main.ts");
  const { status } = spawnSync(process.execPath, [file], { stdio: "inherit", timeout: 120_000 });
  if (status !== 0) failed.push(name);
}
process.stdout.write(`\n${examples.length - failed.length} of ${examples.length} examples ran.\n`);
if (examples.length === 0 || failed.length > 0) {
  process.stdout.write(`Failed: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}
