import { copyFileSync, globSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { makeChangelog, pendingChangesets } from "./changelog.ts";
import { git, gitCommit } from "./git.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** What the versions of all packages are made from. */
const NEEDED = [
  ".changeset/*",
  "package.json",
  "pnpm-*.yaml",
  "*/*/package.json",
  "*/*/CHANGELOG.md",
];

it("the changelog of a release has each pending changeset", {
  timeout: 300_000,
}, async (context) => {
  const pending = pendingChangesets(ROOT);
  context.skip(pending.length === 0, "no changeset is pending");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "pending-changelog-"));
  const root = join(scratch.path, "root");
  // With one commit in place of the history: the commits of changesets are looked for in all of it.
  for (const path of globSync(NEEDED, { cwd: ROOT })) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(root, path));
  }
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@acme.org"];
  await git(root, "init", "--quiet", "--initial-branch", "main");
  await git(root, "add", "--all", "--force");
  await git(root, ...author, "commit", "--quiet", "--message", "all");
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const { id: commit, time } = await gitCommit(root);
  const output = scratch.path;
  await makeChangelog({ root, output, version: "0.1.0", commit, time, nodes: [] });
  const text = await readFile(join(output, "CHANGELOG.md"), "utf8");
  const words = wordsOf(text);
  const missing = pending.filter((path) => {
    const [, , said = ""] = readFileSync(join(ROOT, path), "utf8").split(/^---$/m);
    return said.trim() !== "" && !words.includes(wordsOf(said));
  });
  expect(missing).toEqual([]);
  expect(text).toMatch(/^## stackwright 0\.1\.0 \(trial, not released\)$/m);
});

/** A text without what its formatting may change. */
function wordsOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
}
