import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

// `npm start`: there is no server yet, so this runs every example and says what each one did.
const root = join(import.meta.dirname, "..", "..");
const examples = existsSync(join(root, "examples"))
  ? readdirSync(join(root, "examples"))
      .toSorted()
      .filter((name) => existsSync(join(root, "examples", name, "main.ts")))
  : [];

const failed: string[] = [];
for (const name of examples) {
  process.stdout.write(`\n--- examples/${name}\n`);
  const file = join(root, "examples", name, "main.ts");
  const { status } = spawnSync(process.execPath, [file], { stdio: "inherit", timeout: 120_000 });
  if (status !== 0) failed.push(name);
}

if (examples.length === 0) {
  process.stdout.write("There is nothing to run: the folder examples/ is missing.\n");
  process.exitCode = 1;
} else if (failed.length > 0) {
  process.stdout.write(`\nFailed: ${failed.join(", ")}. The output above says why.\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(
    `\nRan ${examples.length} of ${examples.length} examples: ${examples.join(", ")}.\n` +
      "Look at examples/<name>/main.ts for what they do, at packages/<name>/README.md for each library.\n",
  );
}
