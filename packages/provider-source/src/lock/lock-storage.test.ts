import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ProviderAddress } from "../address/provider-address.ts";
import { VersionConstraints } from "../version/constraints.ts";
import { Version } from "../version/version.ts";
import { LockFile } from "./lock-file.ts";
import { LOCK_FILE_NAME } from "./lock-parser.ts";
import { readLockFile, writeLockFile } from "./lock-storage.ts";
import { createProviderLock } from "./provider-lock.ts";

const locks = LockFile.of([
  createProviderLock({
    address: ProviderAddress.parse("a/b"),
    version: Version.parse("1.0.0"),
    constraints: VersionConstraints.any,
  }),
]);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "provider-source-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe("lock files on disk", () => {
  it("are written as a whole and read again", async () => {
    const path = join(directory, LOCK_FILE_NAME);
    await writeFile(path, "former");
    await writeLockFile(path, locks);
    expect(await readFile(path, "utf8")).toBe(locks.toString());
    expect((await stat(path)).mode & 0o777).toBe(0o644 & ~process.umask());
    expect((await readLockFile(path))?.locks.toString()).toBe(locks.toString());
    expect(await readdir(directory)).toEqual([LOCK_FILE_NAME]);
  });

  it("are undefined where there is none", async () => {
    expect(await readLockFile(join(directory, "none"))).toBeUndefined();
  });

  it("name the file in what is wrong with them", async () => {
    const path = join(directory, LOCK_FILE_NAME);
    await writeFile(path, "x");
    await expect(readLockFile(path)).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_LOCK_FILE_INVALID",
      details: { file: path },
    });
    await writeFile(path, Uint8Array.of(0xff, 0xfe));
    await expect(readLockFile(path)).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_LOCK_FILE_INVALID",
      message: expect.stringContaining("not UTF-8") as string,
    });
  });

  it("leave nothing behind when they cannot be written", async () => {
    const path = join(directory, "taken");
    await mkdir(join(path, "by-a-directory"), { recursive: true });
    await expect(writeLockFile(path, locks)).rejects.toMatchObject({ code: "PROVIDER_SOURCE_IO" });
    expect(await readdir(directory)).toEqual(["taken"]);
    const missing = join(directory, "missing", LOCK_FILE_NAME);
    await expect(writeLockFile(missing, locks)).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
  });

  it("stop being read when the caller gives up", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(readLockFile(join(directory, "x"), { signal })).rejects.toThrow("enough");
  });
});
