import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { type Tally, tallyCommand } from "./tally.ts";

/**
 * Builds the Go programs that live tests require. Optional ones that are slow to build are built on demand by
 * `node tools/go/build.ts`; live tests use them where they exist.
 */
export async function buildGoPrograms(root: string, timeoutMs: number): Promise<Tally> {
  const go = await runSuiteCommand(["go", "version"], { cwd: root, timeoutMs: 60_000 });
  if (go.code !== 0) {
    const reason = "there is no Go: tests that need etcd or a provider binary skip";
    return { passed: 0, failed: [], skipped: [reason] };
  }
  const build: [string, ...string[]] = ["node", "tools/go/build.ts", ...requiredPrograms(root)];
  return tallyCommand("build", await runSuiteCommand(build, { cwd: root, timeoutMs }));
}

/** Names of the folders in `tools/` with a Go module, without those that say that nothing needs them. */
function requiredPrograms(root: string): string[] {
  const tools = join(root, "tools");
  return readdirSync(tools).filter((name) => {
    if (!existsSync(join(tools, name, "go.mod"))) return false;
    const manifest = join(tools, name, "tool.json");
    if (!existsSync(manifest)) return true;
    const { required } = JSON.parse(readFileSync(manifest, "utf8")) as { required?: boolean };
    return required !== false;
  });
}
