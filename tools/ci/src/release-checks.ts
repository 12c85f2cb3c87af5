import { readdirSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { checkExecutable } from "./installed-command.ts";
import { addTallies, type Tally, tallyCommand } from "./tally.ts";

/**
 * Builds parts of a release twice from the packages that are built, which must give equal bytes, and uses the executable. What
 * `pnpm pack` makes is used by the suite already.
 */
export async function checkRelease(root: string): Promise<Tally> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-release-"));
  const build = async (name: string): Promise<Tally> => {
    const words = ["--trial", "--built", "--only", "executables,docs,editor,sbom"];
    const program = join(root, "tools/release/src/main.ts");
    const result = await runSuiteCommand(
      [process.execPath, program, ...words, "--out", join(scratch.path, name)],
      { cwd: root, timeoutMs: 240_000 },
    );
    return tallyCommand(`a release, ${name}`, result);
  };
  const tallies = [await build("once"), await build("twice")];
  if (tallies.some(({ failed }) => failed.length > 0)) return addTallies(tallies);
  const sums = await Promise.all(
    ["once", "twice"].map((name) => readFile(join(scratch.path, name, "SHA256SUMS"), "utf8")),
  );
  const failed =
    sums[0] === sums[1] ? [] : [`a release differs when it is built again:\n${sums.join("\n")}`];
  tallies.push({ passed: 1 - failed.length, failed, skipped: [] });
  const words = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"] as const;
  const check = await runSuiteCommand(words, {
    cwd: join(scratch.path, "once"),
    timeoutMs: 60_000,
  });
  tallies.push(tallyCommand("the sums of a release", check));
  const archives = readdirSync(join(scratch.path, "once")).filter((name) =>
    name.includes("-linux-"),
  );
  for (const archive of archives) {
    tallies.push(await checkExecutable(join(scratch.path, "once", archive)));
  }
  return addTallies(tallies);
}
