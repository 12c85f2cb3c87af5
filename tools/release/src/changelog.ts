import { existsSync, globSync } from "node:fs";
import { mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import { git } from "./git.ts";
import { publishedPackages } from "./packages.ts";
import type { PartContext } from "./parts.ts";

/** It looks for the commit of each changeset in the whole history: with 800 changesets a minute, and more on a machine with other work. */
const VERSION_MS = 10 * 60_000;

/**
 * Writes what is new in every package. Where changesets are pending, which is so in trials alone, they are applied to a copy of the
 * commit, and the packages, which have the version before, are said to have them.
 */
export async function makeChangelog({ root, output, commit, version }: PartContext): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-changelog-"));
  const copy = join(scratch.path, "copy");
  await git(root, "clone", "--quiet", "--shared", "--no-checkout", root, copy);
  await git(copy, "checkout", "--quiet", "--detach", commit);
  const isPending = pendingChangesets(copy).length > 0;
  if (isPending) {
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    const program = join(root, "node_modules/@changesets/cli/bin.js");
    await requireCommand([process.execPath, program, "version"], {
      cwd: copy,
      timeoutMs: VERSION_MS,
    });
  }
  const sections: string[] = [];
  for (const folder of publishedPackages(copy)) {
    const path = join(copy, folder, "CHANGELOG.md");
    if (existsSync(path)) {
      const section = newestSection(await readFile(path, "utf8"));
      sections.push(isPending ? trialSection(section, version) : section);
    }
  }
  await writeFile(join(output, "CHANGELOG.md"), `# Changes\n\n${sections.join("\n")}`);
}

/** Changesets that no version has yet. */
export function pendingChangesets(root: string): readonly string[] {
  return globSync(".changeset/*.md", { cwd: root }).filter((path) => !path.endsWith("README.md"));
}

/** The newest version in a changelog of a package, under the name of the package. */
export function newestSection(changelog: string): string {
  const [title = "", ...versions] = changelog.split(/^(?=##? )/m);
  const name = title.replace(/^# /, "").trim();
  const [newest = ""] = versions;
  const text = newest.replace(/^## (\S+)/, `## ${name} $1`).replaceAll(/^### /gm, "### ");
  return `${text.trim()}\n`;
}

/** A section of what a trial has, whose packages do not have the version of the section yet. */
export function trialSection(section: string, version: string): string {
  return section.replace(/^(## .*) \S+$/m, `$1 ${version} (trial, not released)`);
}
