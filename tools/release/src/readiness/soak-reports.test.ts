import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../git.ts";
import { coveredSources, passedJobs, soakProblems } from "./soak-reports.ts";

const ROOT = join(import.meta.dirname, "../../../..");
/** A row of a report, of a job with five slices of 34 times the counts. */
const ROW = "| krt-programs | 1000 to 1004 | 34 | 10 | 0 | 15.4 | |";

it("reads the jobs that ran whole and passed", () => {
  const report = (...rows: readonly string[]): string =>
    [
      "# Soak",
      "",
      "| job | seeds | times | cases passed | failed | minutes | counted |",
      "| --- | ----- | ----- | ------------ | ------ | ------- | ------- |",
      ...rows,
    ].join("\n");
  const failed = "| storage-sqlite | 1000 to 1003 | 5 | 19 | 1 | 12.4 | |";
  const leaks = "| krt-leaks | 1000 to 1000 | 100 | 12 | 0 | 0.4 | |";
  expect(passedJobs(report(ROW, failed, leaks))).toEqual(["krt-programs", "krt-leaks"]);
  for (const [before, after] of [
    ["1000 to 1004", "1000 to 1003"],
    ["| 34 |", "| 30 |"],
    ["| 10 |", "| 0 |"],
    ["| 0 |", "|  |"],
  ] as const) {
    expect(passedJobs(report(ROW.replace(before, after))), after).toEqual([]);
  }
  const changed = report(ROW).replace(
    "\n\n",
    "\n\nThe work tree had changes that are not in this commit.\n\n",
  );
  expect(passedJobs(changed)).toEqual([]);
});

it("knows what a job covers: its packages, and all that these are made with", () => {
  const krt = coveredSources(ROOT, {
    files: ["packages/krt/src/a.test.ts", "packages/krt/src/b/"],
  });
  expect(krt).toContain("packages/krt/src");
  expect(krt).not.toContain("packages/core/src");
  const command = coveredSources(ROOT, { files: ["apps/cli/src/a.live.test.ts"] });
  for (const folder of ["apps/cli", "apps/engine", "packages/core", "packages/storage"]) {
    expect(command).toContain(`${folder}/src`);
  }
  const all = coveredSources(ROOT, { files: [".property.test.ts"] });
  expect(all).toContain("packages/krt/src");
  expect(coveredSources(ROOT, { files: [] })).toEqual(all);
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
  for (const [name, dependencies] of [
    ["base", {}],
    ["krt", { "@stackwright/base": "workspace:*" }],
    ["lang", {}],
  ] as const) {
    mkdirSync(join(root, "packages", name), { recursive: true });
    const manifest = { name: `@stackwright/${name}`, dependencies };
    writeFileSync(join(root, "packages", name, "package.json"), JSON.stringify(manifest));
  }
  const first = await commit("packages/krt/src/a.ts");
  expect(await problem()).toContain("has no whole report of a commit of this history");
  const report = `docs/soak/${first.slice(0, 12)}.md`;
  mkdirSync(join(root, "docs/soak"), { recursive: true });
  writeFileSync(join(root, report), `${ROW}\n`);
  expect(await problem()).toBeUndefined();
  await commit("packages/krt/src/a.test.ts");
  await commit("packages/lang/src/a.ts");
  expect(await problem()).toBeUndefined();
  await commit("packages/krt/src/b/c.ts");
  expect(await problem()).toContain(
    '1 commits of its code ago; run ".ci/soak --only krt-programs"',
  );
  await commit("packages/base/src/a.ts");
  expect(await problem()).toContain("2 commits of its code ago");
});
