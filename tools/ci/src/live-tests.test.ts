import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LONG_FILES, orderedLiveFiles } from "./live-tests.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

it("the files that begin first exist", () => {
  expect(LONG_FILES.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

it("every commit has all files, and another one of them last", () => {
  const [first, second] = [orderedLiveFiles(ROOT, 1), orderedLiveFiles(ROOT, 2)];
  expect(first.slice(0, LONG_FILES.length)).toEqual(LONG_FILES);
  expect(first.toSorted()).toEqual(second.toSorted());
  expect(new Set(first).size).toBe(first.length);
  expect(first.at(-1)).not.toBe(second.at(-1));
});
