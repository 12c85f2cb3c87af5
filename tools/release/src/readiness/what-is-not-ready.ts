import { pendingChangesets } from "../changelog.ts";
import { git } from "../git.ts";
import { metadataProblems } from "../metadata/metadata-problems.ts";
import { soakProblems } from "./soak-reports.ts";
import { versionProblems } from "./version-problems.ts";

/** What speaks against a release of the commit, each in a line with what to do. */
export async function whatIsNotReady(root: string): Promise<readonly string[]> {
  const problems: string[] = [];
  const changed = (await git(root, "status", "--porcelain")).split("\n").filter(Boolean);
  if (changed.length > 0) {
    const [first = ""] = changed;
    problems.push(
      `${changed.length} files differ from the commit (${first.slice(3)}); commit or remove them`,
    );
  }
  const pending = pendingChangesets(root).length;
  if (pending > 0) {
    problems.push(
      `${pending} changesets have no version yet; run "pnpm changeset version" and commit the result`,
    );
  }
  problems.push(...versionProblems(root));
  return [...problems, ...metadataProblems(root), ...(await soakProblems(root))];
}
