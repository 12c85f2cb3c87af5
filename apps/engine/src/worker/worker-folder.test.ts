import { spawnSync } from "node:child_process";
import {
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { expect, it, onTestFinished } from "vitest";
import { markOfState, writeStoredMark } from "../executor/stored-mark.ts";
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

/** The folder of a step of a dead worker, in which a tool wrote the state `{}`. */
async function deadStep() {
  const directory = await directoryWith([]);
  const folder = join(directory, `w-${MACHINE}-${deadPid()}-abcdef`, "run-01R-abcdef");
  await mkdir(join(folder, "state"), { recursive: true });
  const paths = {
    statePath: join(folder, "state/terraform.tfstate"),
    erroredPath: join(folder, "root/errored.tfstate"),
  };
  await writeFile(paths.statePath, "{}");
  return { directory, folder, paths };
}

it("keeps a state that a dead worker did not store, beside one that it kept before", async () => {
  const { directory, folder, paths } = await deadStep();
  await writeStoredMark(folder, paths, "");
  await mkdir(join(directory, "unstored-states"));
  await writeFile(join(directory, "unstored-states/01R.tfstate"), "before");
  await using _folder = await openWorkerFolder(directory);
  const kept = join(directory, "unstored-states");
  expect(await readdir(kept)).toEqual(["01R-2.tfstate", "01R.tfstate"]);
  expect(await readFile(join(kept, "01R-2.tfstate"), "utf8")).toBe("{}");
  expect(await readFile(join(kept, "01R.tfstate"), "utf8")).toBe("before");
  expect(await readdir(directory)).not.toContain(basename(join(folder, "..")));
});

it("keeps no state that is stored, nor a file of the worker that a step points to", async () => {
  const stored = await deadStep();
  await writeStoredMark(stored.folder, stored.paths, await markOfState(stored.paths));
  const hostile = await deadStep();
  await writeFile(join(hostile.directory, "own.txt"), "own");
  await mkdir(join(hostile.folder, "root"));
  await symlink(join(hostile.directory, "own.txt"), hostile.paths.erroredPath);
  await writeStoredMark(hostile.folder, hostile.paths, "");
  for (const { directory } of [stored, hostile]) {
    await using _folder = await openWorkerFolder(directory);
    expect(await readdir(directory)).not.toContain("unstored-states");
  }
  expect(await readFile(join(hostile.directory, "own.txt"), "utf8")).toBe("own");
});
