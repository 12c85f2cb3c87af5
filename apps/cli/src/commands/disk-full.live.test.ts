import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SmallDisk } from "@stackwright/storage/testing";
import { describe, expect, it } from "vitest";
import { applyByRecords, labRecords, storedIds } from "../testing/lab-records.ts";
import { layLab } from "../testing/lay-lab.ts";
import { runSpawned } from "../testing/spawned-command.ts";

// The command as users start it, on a disk that fills up, with a provider that keeps its own records elsewhere. After there is
// space again, store and records agree without more than what the command asks for.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const KIB = 1024;

const probe = SmallDisk.mount(1);
probe?.[Symbol.dispose]();
const lacks =
  LAB === ""
    ? "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set"
    : probe === undefined
      ? "no right to mount a tmpfs"
      : undefined;
if (lacks !== undefined) process.stderr.write(`skipped: ${lacks}, for the tests of full disks\n`);

/** Objects are made, changed and replaced with each number; each takes some KiB of the store. */
const templateOf = (lab: string, number: number): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
resource "lab_object" "kept" {
  count = 3
  name  = "kept-\${count.index}"
  size  = ${number + 1}
}
resource "lab_object" "made" {
  count = ${10 + number}
  name  = "made-${number}-\${count.index}"
  tags  = { text = "${"x".repeat(4 * KIB)}", net = lab_object.kept[0].id }
}
`;

describe.skipIf(lacks !== undefined)("the command on a full disk", { retry: 0 }, () => {
  it("says at its start what has no place, and makes all of it when there is space", async () => {
    await using place = await placeOnSmallDisk();
    const { disk, cwd, run } = place;
    await place.configure(0);
    disk.fill();
    const refused = await run("up", "--yes");
    expect(refused.code).toBe(1);
    expect(refused.text).toContain(join(cwd, ".stackwright"));
    expect(refused.text).toMatch(/no space/);
    expect(refused.text).not.toMatch(/^\s+at /m);
    disk.free();
    expect(await run("up", "--yes")).toMatchObject({ code: 0 });
    // A file of a disk that was full would show keys and state to version control.
    expect(await readFile(join(cwd, ".stackwright/.gitignore"), "utf8")).toMatch(/^\*$/m);
    await place.expectSame(13);
  }, 180_000);

  it("leaves no file for a plan that has no place in it", async () => {
    await using place = await placeOnSmallDisk();
    const { disk, scratch } = place;
    await place.configure(0);
    disk.fill();
    const env = { STACKWRIGHT_DIR: join(scratch, "data") };
    const refused = await place.runWith(env, "plan", "--out", "saved");
    expect(refused.code).toBe(1);
    expect(refused.text).toContain(`The plan cannot be written to "${join(place.cwd, "saved")}".`);
    expect(refused.text).toMatch(/No space is left on its file system/);
    expect(await readdir(place.cwd)).not.toContain("saved");
  }, 180_000);

  // At the lock of the stack, and in the midst of the results.
  it.each([16, 200])(
    "loses no object and makes none twice where %d KiB are left for an apply",
    async (leftKiB) => {
      await using place = await placeOnSmallDisk();
      const { disk, cwd, run } = place;
      await place.configure(0);
      expect(await run("up", "--yes")).toMatchObject({ code: 0 });
      await place.configure(5);
      disk.fill(leftKiB * KIB);
      const stopped = await run("up", "--yes");
      expect(stopped.code).toBe(1);
      expect(stopped.text).toContain(
        `no space is left for the store ${join(cwd, ".stackwright/store")}`,
      );
      expect(stopped.text).toMatch(/[Mm]ake (?:some|space) on (?:its|the) file system/);
      expect(stopped.text).not.toMatch(/^\s+at /m);
      disk.free();
      const done = await applyByRecords(run, place.lab);
      expect(done.code, done.text).toBe(0);
      await place.expectSame(18);
    },
    240_000,
  );
});

/** A configuration on a disk of its own; the records of the provider and the home are elsewhere. */
async function placeOnSmallDisk() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "disk-full-"));
  const disk = SmallDisk.mount(8);
  if (disk === undefined) throw new Error("the disk cannot be mounted");
  const cwd = join(disk.path, "work");
  await mkdir(cwd);
  const { lab, rc } = await layLab(scratch.path, LAB);
  const env = { HOME: scratch.path, TF_CLI_CONFIG_FILE: rc };
  const runWith = async (more: NodeJS.ProcessEnv, ...words: string[]) =>
    runSpawned(words, { cwd, env: { ...env, ...more } });
  const run = async (...words: string[]) => runWith({}, ...words);
  return {
    disk,
    cwd,
    lab,
    scratch: scratch.path,
    run,
    runWith,
    configure: async (number: number) => writeFile(join(cwd, "main.tf"), templateOf(lab, number)),
    /** That store and provider have the same objects, so many. */
    expectSame: async (count: number): Promise<void> => {
      const ids = (await labRecords(lab)).map(({ id }) => id).toSorted();
      expect(await storedIds(run)).toEqual(ids);
      expect(ids).toHaveLength(count);
    },
    [Symbol.asyncDispose]: async () => {
      disk[Symbol.dispose]();
      await scratch.remove();
    },
  };
}
