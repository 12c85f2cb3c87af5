import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SOAK_JOBS, type SoakJob } from "@stackwright-tools/ci/soak-jobs";
import { listPackages } from "@stackwright-tools/ci/workspace";
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

/**
 * The jobs of a report that ran all of their slices at the counts that they have now, without a failure. None of a work tree that
 * differed from its commit: what ran there is not known.
 */
export function passedJobs(report: string): readonly string[] {
  if (report.includes("\nThe work tree had changes")) return [];
  return report.split("\n").flatMap((line) => {
    const [, name = "", seeds = "", runs, passed, failed] = line
      .split("|")
      .map((cell) => cell.trim());
    const job = SOAK_JOBS.find((one) => one.name === name);
    if (job === undefined || failed !== "0" || !(Number(passed) > 0)) return [];
    const [first = Number.NaN, last = first] = seeds.split(" to ").map(Number);
    const isWhole = last - first + 1 === job.slices && runs === String(job.runs);
    return isWhole ? [name] : [];
  });
}

/**
 * The sources that a job covers: those of the packages of its files, and of all packages of the workspace that these depend on. A job
 * without such files covers all packages and programs.
 */
export function coveredSources(root: string, { files }: Pick<SoakJob, "files">): readonly string[] {
  const folders = files.map((file) => /^(?:packages|apps)\/[^/]+/.exec(file)?.[0]);
  const packages = listPackages(root).filter(({ folder }) => /^(?:packages|apps)\//.test(folder));
  if (folders.length === 0 || folders.includes(undefined)) {
    return packages.map(({ folder }) => `${folder}/src`);
  }
  const covered = new Set(packages.filter(({ folder }) => folders.includes(folder)));
  // A set that grows while it is read.
  for (const { manifest } of covered) {
    const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    for (const one of packages) if (names.includes(one.manifest.name)) covered.add(one);
  }
  return [...covered].map(({ folder }) => `${folder}/src`).toSorted();
}

/** Jobs without a report of the code that is there now, each with what to do. */
export async function soakProblems(root: string): Promise<readonly string[]> {
  const reports = readSoakReports(root);
  const problems: string[] = [];
  for (const job of SOAK_JOBS) {
    const { name } = job;
    const ofJob = reports.filter(({ jobs }) => jobs.includes(name));
    const sources = coveredSources(root, job);
    let isCovered = false;
    let changes = Number.POSITIVE_INFINITY;
    for (const { commit } of ofJob) {
      const later = await changesAfter(root, commit, sources);
      if (later === undefined) continue;
      changes = Math.min(changes, later);
      isCovered ||= later === 0;
    }
    if (isCovered) continue;
    const state =
      changes === Number.POSITIVE_INFINITY
        ? "has no whole report of a commit of this history"
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
