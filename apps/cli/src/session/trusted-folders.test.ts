import { mkdir, mkdtempDisposable, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { withFileLock } from "./file-lock.ts";
import { TrustedFolders } from "./trusted-folders.ts";

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "trusted-folders-"));
  onTestFinished(() => scratch.remove());
  const env = { XDG_CONFIG_HOME: scratch.path };
  const { path } = new TrustedFolders(env);
  return { scratch: scratch.path, env, path, folder: join(scratch.path, "stackwright") };
}

it("keeps the decisions of commands that run at once", async () => {
  const { scratch, env, folder, path } = await setUp();
  const names = Array.from({ length: 20 }, (_, at) => join(scratch, `project-${at}`));
  await Promise.all(names.map(async (name) => new TrustedFolders(env).remember(name, "trusted")));
  const kept = JSON.parse(await readFile(path, "utf8")) as object;
  expect(Object.keys(kept).toSorted()).toEqual(names.toSorted());
  expect(await readdir(folder)).toEqual(["trusted-folders.json"]);
});

it.each([
  ["a process that is gone", { host: hostname(), pid: 2 ** 30, token: "t" }, 0],
  ["another machine that is old", { host: "elsewhere.example", pid: 1, token: "t" }, 120_000],
  ["an unknown holder", {}, 120_000],
])("removes the lock of %s", async (_, holder, ageMs) => {
  const { scratch, env, folder, path } = await setUp();
  await mkdir(folder);
  await writeFile(`${path}.lock`, JSON.stringify(holder));
  const changed = new Date(Date.now() - ageMs);
  await utimes(`${path}.lock`, changed, changed);
  const trusted = new TrustedFolders(env);
  await trusted.remember(scratch, "refused");
  expect(await trusted.decision(join(scratch, "below"))).toBe("refused");
  expect(await readdir(folder)).toEqual(["trusted-folders.json"]);
});

it("says which lock another command has", async () => {
  const { path } = await setUp();
  await withFileLock(path, async () => {
    const second = withFileLock(path, async () => Promise.resolve(), { deadlineMs: 50 });
    await expect(second).rejects.toThrow(`Another command has the lock ${path}.lock.`);
  });
});
