import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { type Tally, tallyCommand } from "./tally.ts";
import { listPackages } from "./workspace.ts";

/**
 * Runs the code generators again, and compares the result with the work tree. A difference stays there to be reviewed
 * and committed.
 */
export async function checkGeneratedCode(root: string): Promise<Tally> {
  const failed: string[] = [];
  let passed = 0;
  for (const { path, folder, manifest } of listPackages(root)) {
    if (manifest.scripts?.generate === undefined) continue;
    const before = fingerprints(path);
    const result = await runSuiteCommand(["pnpm", "run", "generate"], {
      cwd: path,
      timeoutMs: 180_000,
    });
    const run = tallyCommand(`${folder}: generate`, result);
    failed.push(...run.failed);
    if (run.failed.length > 0) continue;
    const after = fingerprints(path);
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (file) => before.get(file) !== after.get(file),
    );
    if (changed.length === 0) passed += 1;
    else failed.push(`${folder}: generated code is not current: ${changed.join(", ")}`);
  }
  return { passed, failed, skipped: [] };
}

/** Every file under a `gen` or `fixtures` folder, which is where generators write, by content. */
function fingerprints(path: string): Map<string, string> {
  const files = ["src/**/gen/**", "fixtures/**", "docs/**"].flatMap((pattern) =>
    globSync(pattern, { cwd: path, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return new Map(
    files
      .filter((file) => existsSync(file))
      .map((file) => [file, createHash("sha256").update(readFileSync(file)).digest("hex")]),
  );
}
