import { mkdir, mkdtempDisposable, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { trimCopies } from "./kept-copies.ts";

/** Copies of 1,000 bytes each, the first one used longest ago. */
async function copies(names: readonly string[]): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "copies-"));
  onTestFinished(() => scratch.remove());
  for (const [at, name] of names.entries()) {
    await mkdir(join(scratch.path, name, "objects"), { recursive: true });
    await writeFile(join(scratch.path, name, "objects", "x"), "x".repeat(1_000));
    await writeFile(join(scratch.path, name, "HEAD"), "");
    await utimes(join(scratch.path, name, "HEAD"), at + 1, at + 1);
  }
  return scratch.path;
}

it("removes what was used longest ago, and nothing that is in use", async () => {
  const directory = await copies(["a.git", "b.git", "c.git", "d.git"]);
  await trimCopies({ directory, maxBytes: 2_500 }, (id) => id === "a");
  expect((await readdir(directory)).toSorted()).toEqual(["a.git", "c.git", "d.git"]);
});

it("removes nothing within the limit, and what a killed server began to remove", async () => {
  const directory = await copies(["a.git", "b.git", "c.git.removed"]);
  await trimCopies({ directory, maxBytes: 2_000 }, () => false);
  expect((await readdir(directory)).toSorted()).toEqual(["a.git", "b.git"]);
});

it("waits for the first copy where there is no folder", async () => {
  const directory = join(await copies([]), "none");
  await expect(trimCopies({ directory, maxBytes: 1 }, () => false)).resolves.toBeUndefined();
});
