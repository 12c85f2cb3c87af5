import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { gitCommit } from "./git.ts";
import { publishedPackages } from "./packages.ts";
import type { PartContext } from "./parts.ts";
import { nextVersion } from "./readiness/next-version.ts";
import { whatIsNotReady } from "./readiness/what-is-not-ready.ts";
import { ReleaseError } from "./release-error.ts";
import type { ReleaseOptions } from "./release-options.ts";
import { SUMS, writeSums } from "./sums.ts";

const BUILD_MS = 15 * 60_000;

/**
 * Checks that the commit is ready, builds the packages, makes the parts, and writes the sums of all files. Publishes nothing.
 *
 * @param say gets one line for each step
 */
export async function makeRelease(
  root: string,
  { output, parts, isTrial, isDryRun, isBuilt, nodes }: ReleaseOptions,
  say: (line: string) => void,
): Promise<void> {
  const problems = await whatIsNotReady(root);
  for (const problem of problems) say(`not ready: ${problem}`);
  if (problems.length > 0 && !isTrial) {
    throw new ReleaseError(
      "RELEASE_NOT_READY",
      "nothing was built. Put right what is named above, or build a trial, which is never published, with --trial",
    );
  }
  const { id, time } = await gitCommit(root);
  const version = await releasedVersion(root);
  const next = nextVersion(root, version);
  const after = next === version ? "" : `; with its changesets it becomes ${next}`;
  say(`version ${version}, commit ${id}${after}`);
  if (isDryRun) {
    for (const { name, what } of parts) say(`would make ${name}: ${what}`);
    return;
  }
  await requireEmpty(output);
  if (!isBuilt) {
    say("building the packages");
    // What an earlier build left would be published: the cache of turbo adds files and removes none.
    for (const folder of publishedPackages(root)) {
      await rm(join(root, folder, "dist"), { recursive: true, force: true });
    }
    await requireCommand(["turbo", "run", "build", "--output-logs=errors-only"], {
      cwd: root,
      timeoutMs: BUILD_MS,
    });
  }
  const context: PartContext = { root, output, version, commit: id, time, nodes };
  for (const part of parts) {
    say(`making ${part.name}: ${part.what}`);
    await part.make(context);
  }
  const count = await writeSums(output);
  say(`${count} files are in ${output}, their sums in ${SUMS}`);
  say(
    isTrial
      ? "this is a trial: do not publish it"
      : "nothing is published: CONTRIBUTING.md has what comes next",
  );
}

async function releasedVersion(root: string): Promise<string> {
  const manifest = await readFile(join(root, "apps/cli/package.json"), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/** What an earlier release left would get into the sums of this one. */
async function requireEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length === 0) return;
  throw new ReleaseError("RELEASE_OPTION_INVALID", `--out: ${folder} is not empty`);
}
