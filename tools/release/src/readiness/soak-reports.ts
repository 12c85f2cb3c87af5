import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SOAK_JOBS } from "@stackwright-tools/ci/soak-jobs";
import { runCommand } from "@stackwright-tools/processes";
import { git } from "../git.ts";

/** A report of long runs, by the commit at which they ran. */
interface SoakReport {
  readonly commit: string;
  /** Names of the jobs that passed. */
  readonly jobs: readonly string[];
}

/** Reads the reports that `.ci/soak` wrote. */
function readSoakReports(root: string): readonly SoakReport[] {
  return globSync("docs/soak/*.md", { cwd: root }).flatMap((path) => {
    const commit = basename(path, ".md");
    if (!/^[0-9a-f]{12}$/.test(commit)) return [];
    return [{ commit, jobs: passedJobs(readFileSync(join(root, path), "utf8")) }];
  });
}

/** The jobs of a report whose count of failures is 0. */
export function passedJobs(report: string): readonly string[] {
  return report.split("\n").flatMap((line) => {
    const [, name = "", , , , failed] = line.split("|").map((cell) => cell.trim());
    return failed === "0" && SOAK_JOBS.some((job) => job.name === name) ? [name] : [];
  });
}

/** The sources that a job covers: those of the packages of its files. */
export function coveredSources(files: readonly string[]): readonly string[] {
  const folders = files.map((file) => /^(?:packages|apps)\/[^/]+/.exec(file)?.[0]);
  return folders.includes(undefined)
    ? ["packages/*/src"]
    : [...new Set(folders.map((folder) => `${folder}/src`))];
}

/** Jobs without a report of the code that is there now, each with what to do. */
export async function soakProblems(root: string): Promise<readonly string[]> {
  const reports = readSoakReports(root);
  const problems: string[] = [];
  for (const { name, files } of SOAK_JOBS) {
    const ofJob = reports.filter(({ jobs }) => jobs.includes(name));
    let isCovered = false;
    let changes = Number.POSITIVE_INFINITY;
    for (const { commit } of ofJob) {
      const later = await changesAfter(root, commit, coveredSources(files));
      if (later === undefined) continue;
      changes = Math.min(changes, later);
      isCovered ||= later === 0;
    }
    if (isCovered) continue;
    const state =
      changes === Number.POSITIVE_INFINITY
        ? "has no report of a commit of this history"
        : `was last reported ${changes} commits of its code ago`;
    problems.push(
      `the long run ${name} ${state}; run ".ci/soak --only ${name}" and commit the report`,
    );
  }
  return problems;
}

/** How many commits changed the sources after the commit; undefined where it is not an ancestor of what is built. */
async function changesAfter(
  root: string,
  commit: string,
  sources: readonly string[],
): Promise<number | undefined> {
  const check = ["git", "merge-base", "--is-ancestor", commit, "HEAD"] as const;
  if ((await runCommand(check, { cwd: root })).code !== 0) return undefined;
  const paths = [...sources.map((path) => `:(glob)${path}/**`), ":(exclude,glob)**/*.test.ts"];
  return Number(await git(root, "rev-list", "--count", `${commit}..HEAD`, "--", ...paths));
}
