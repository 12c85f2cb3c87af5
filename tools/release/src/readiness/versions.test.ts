import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { nextVersion } from "./next-version.ts";
import { versionProblems } from "./version-problems.ts";

const ROOT = join(import.meta.dirname, "../../../..");

function write(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

it("everything that is released has one version", () => {
  expect(versionProblems(ROOT)).toEqual([]);
});

it("names what kept another version", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-versions-"));
  const root = scratch.path;
  const own = "packages/fg-bridge/src/function/function-options.ts";
  write(root, "apps/cli/package.json", '{ "version": "0.2.0" }');
  write(root, "apps/vscode/package.json", '{ "private": true, "version": "0.1.0" }');
  write(root, "packages/fg-bridge/package.json", '{ "version": "0.2.0" }');
  write(root, own, 'const VERSION = "0.1.9";\n');
  expect(versionProblems(root)).toEqual([
    "apps/vscode/package.json has the version 0.1.0, and the command 0.2.0; write that one there",
    `${own} has the version 0.1.9, and the command 0.2.0; write that one there`,
  ]);
});

it("the largest step of the changesets is that of all packages", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-versions-"));
  const root = scratch.path;
  expect(nextVersion(root, "0.1.4")).toBe("0.1.4");
  write(root, ".changeset/README.md", '---\n"a": major\n---\n');
  write(root, ".changeset/a.md", '---\n"stackwright": patch\n---\n\nRepairs it: minor\n');
  expect(nextVersion(root, "0.1.4")).toBe("0.1.5");
  write(
    root,
    ".changeset/b.md",
    '---\n"stackwright": patch\n"@stackwright/krt": minor\n---\n\nx\n',
  );
  expect(nextVersion(root, "0.1.4")).toBe("0.2.0");
  write(root, ".changeset/c.md", '---\n"@stackwright/krt": major\n---\n\nx\n');
  expect(nextVersion(root, "0.1.4")).toBe("1.0.0");
});
