import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeDirectory } from "./make-directory.ts";

describe("making a directory", () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "make-directory-"));
  });
  afterEach(() => rmSync(base, { recursive: true }));

  it("makes all that are missing, for their owner alone", () => {
    makeDirectory(join(base, "a", "b"));
    expect(statSync(join(base, "a")).mode & 0o777).toBe(0o700);
    expect(statSync(join(base, "a", "b")).mode & 0o777).toBe(0o700);
  });

  it("leaves one that is there as it is", () => {
    makeDirectory(join(base, "a"));
    makeDirectory(join(base, "a"));
    expect(statSync(join(base, "a")).isDirectory()).toBe(true);
  });

  it("fails where a file is in the way", () => {
    writeFileSync(join(base, "file"), "");
    expect(() => makeDirectory(join(base, "file"))).toThrow("EEXIST");
    expect(() => makeDirectory(join(base, "file", "below"))).toThrow("ENOTDIR");
  });

  it("fails where a file system has no place for directories", (context) => {
    context.skip(platform() !== "linux", "there is no /proc");
    expect(() => makeDirectory("/proc/nope/below")).toThrow("ENOENT");
  });
});
