import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { checkExecutable } from "./installed-command.ts";
import { deadPackedLinks } from "./packed-links.ts";
import { addTallies, type Tally, tallyCommand } from "./tally.ts";

/** Parts whose bytes must be equal when they are built again. */
const TWICE = "executables,docs,editor,sbom";
/** Those that one trial shows to be made. What `pnpm pack` makes is used by the suite already. */
const ONCE = "packages,openapi";

/**
 * Builds parts of a release from the packages that are built, most of them twice, which must give equal bytes; uses the executable, and
 * follows the links within the packages.
 */
export async function checkRelease(root: string): Promise<Tally> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-release-"));
  const build = async (name: string, parts: string): Promise<Tally> => {
    const words = ["--trial", "--built", "--only", parts];
    const program = join(root, "tools/release/src/main.ts");
    const result = await runSuiteCommand(
      [process.execPath, program, ...words, "--out", join(scratch.path, name)],
      { cwd: root, timeoutMs: 240_000 },
    );
    return tallyCommand(`a release, ${name}`, result);
  };
  const tallies = [await build("once", TWICE), await build("twice", TWICE)];
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
  const packed = await build("packed", ONCE);
  tallies.push(packed);
  if (packed.failed.length === 0) tallies.push(await checkPacked(join(scratch.path, "packed")));
  return addTallies(tallies);
}

/** Unpacks the packages of a release, whose pages must link to nothing that they lack, and reads the document of the API. */
async function checkPacked(release: string): Promise<Tally> {
  const folder = join(release, "packages");
  const failed: string[] = [];
  let pages = 0;
  const archives = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  for (const archive of archives) {
    const target = join(release, "unpacked", archive);
    await mkdir(target, { recursive: true });
    const unpacked = await runSuiteCommand(
      ["tar", "--extract", "--file", join(folder, archive), "--directory", target],
      { cwd: release, timeoutMs: 60_000 },
    );
    if (unpacked.code !== 0) failed.push(`${archive} cannot be unpacked`);
    const links = deadPackedLinks(join(target, "package"));
    pages += links.pages;
    failed.push(...links.problems.map((problem) => `${archive}: ${problem}`));
  }
  if (pages < archives.length) failed.push("a package of a release has no page");
  const [document] = readdirSync(release).filter((name) => name.endsWith("-openapi.json"));
  const text = document === undefined ? "{}" : readFileSync(join(release, document), "utf8");
  const { paths = {} } = JSON.parse(text) as { readonly paths?: object };
  if (Object.keys(paths).length === 0) failed.push("the document of the API has no paths");
  return { passed: failed.length === 0 ? archives.length + 1 : 0, failed, skipped: [] };
}
