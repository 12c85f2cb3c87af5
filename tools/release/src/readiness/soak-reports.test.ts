import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../git.ts";
import { coveredSources, passedJobs, soakProblems } from "./soak-reports.ts";

it("reads the jobs that passed", () => {
  const report = [
    "| job | seeds | times | cases passed | failed | minutes | counted |",
    "| --- | ----- | ----- | ------------ | ------ | ------- | ------- |",
    "| krt-programs | 1000 to 1004 | 34 | 10 | 0 | 15.4 | |",
    "| storage-sqlite | 1000 to 1003 | 5 | 19 | 1 | 12.4 | |",
  ].join("\n");
  expect(passedJobs(report)).toEqual(["krt-programs"]);
});

it("knows what a job covers", () => {
  expect(coveredSources(["packages/krt/src/a.test.ts", "packages/krt/src/b/"])).toEqual([
    "packages/krt/src",
  ]);
  expect(coveredSources([".property.test.ts"])).toEqual(["packages/*/src"]);
});

it("asks for a long run after its code changed, and not after a test did", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-soak-"));
  const root = scratch.path;
  const commit = async (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${Math.random()}`);
    await git(root, "add", "--all");
    await git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", path);
    return git(root, "rev-parse", "HEAD");
  };
  const problem = async () =>
    (await soakProblems(root)).find((line) => line.includes("krt-programs"));
  await git(root, "init", "--quiet");
  const first = await commit("packages/krt/src/a.ts");
  expect(await problem()).toContain("has no report of a commit of this history");
  const report = `docs/soak/${first.slice(0, 12)}.md`;
  mkdirSync(join(root, "docs/soak"), { recursive: true });
  writeFileSync(join(root, report), "| krt-programs | 1 | 34 | 10 | 0 | 15 | |\n");
  expect(await problem()).toBeUndefined();
  await commit("packages/krt/src/a.test.ts");
  await commit("packages/lang/src/a.ts");
  expect(await problem()).toBeUndefined();
  await commit("packages/krt/src/b/c.ts");
  expect(await problem()).toContain(
    '1 commits of its code ago; run ".ci/soak --only krt-programs"',
  );
});
