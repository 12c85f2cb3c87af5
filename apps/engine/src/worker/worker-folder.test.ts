import { spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, stat } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { expect, it, onTestFinished } from "vitest";
import { openWorkerFolder } from "./worker-folder.ts";

const MACHINE = hostname().replaceAll(/[^0-9A-Za-z]/g, "_");

/** The id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

async function directoryWith(names: readonly string[]): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "folders-"));
  onTestFinished(() => scratch.remove());
  const directory = join(scratch.path, "runs");
  for (const name of names) await mkdir(join(directory, name, "run-1"), { recursive: true });
  return directory;
}

it("removes the folders of dead processes of this machine, and no others", async () => {
  const kept = [
    "providers",
    "w-abc",
    `w-elsewhere-${deadPid()}-abcdef`,
    `w-${MACHINE}-${process.pid}-abcdef`,
    `w-${MACHINE}-0-abcdef`,
  ];
  const directory = await directoryWith([...kept, `w-${MACHINE}-${deadPid()}-abcdef`]);
  await using folder = await openWorkerFolder(directory);
  expect((await readdir(directory)).toSorted()).toEqual(
    [...kept, basename(folder.path)].toSorted(),
  );
  expect((await stat(folder.path)).mode & 0o777).toBe(0o700);
});

it("removes its own at its end", async () => {
  const directory = await directoryWith([]);
  const folder = await openWorkerFolder(directory);
  await folder[Symbol.asyncDispose]();
  expect(await readdir(directory)).toEqual([]);
});
