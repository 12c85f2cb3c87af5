import { expect, it } from "vitest";
import { checkEntryPath, EntryPaths } from "./entry-path.ts";
import { DEFAULT_ARCHIVE_LIMITS } from "./limits.ts";

function added(...paths: readonly string[]): EntryPaths {
  const entries = new EntryPaths();
  for (const path of paths) entries.add(entry(path));
  return entries;
}

function entry(text: string): Parameters<EntryPaths["add"]>[0] {
  const isDirectory = text.endsWith("/");
  return { path: isDirectory ? text.slice(0, -1) : text, isDirectory };
}

it.each([
  ["x/Y/z/file", "x/y"],
  ["x/Y/z/file", "X"],
  ["x/Y/z/file", "x/y/other"],
  ["x/Y/z/file", "x/Y/Z/"],
  ["x/y", "x/y/z/file"],
  ["x", "x/y/z/"],
  ["caf\u00e9/a/b", "cafe\u0301"],
])("%s and %s are refused, at any depth", (first, second) => {
  expect(() => added(first, second)).toThrow(
    expect.objectContaining({ code: "PROVIDER_SOURCE_ARCHIVE_DUPLICATE" }),
  );
});

it("folders come up again in the same spelling", () => {
  expect(() => added("x/Y/z/a", "x/Y/z/b", "x/Y/", "x/Y/c", "x/")).not.toThrow();
});

it("a name that no file system takes is refused before anything is unpacked", () => {
  const check = (path: string) => checkEntryPath(Buffer.from(path), DEFAULT_ARCHIVE_LIMITS).path;
  const longest = `modules/${"ü".repeat(127)}x/main.tf`;
  expect(check(longest)).toBe(longest);
  expect(() => check(`modules/${"ü".repeat(128)}/main.tf`)).toThrow(
    expect.objectContaining({
      code: "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
      message: expect.stringContaining("has a name of more than 255 bytes"),
    }),
  );
});
