import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pendingChangesets } from "../changelog.ts";

/** From the smallest to the largest. */
const BUMPS = ["patch", "minor", "major"] as const;

/** The version that the pending changesets make of a version; that one where there are none. All packages get the largest step of any. */
export function nextVersion(root: string, version: string): string {
  const step = Math.max(
    -1,
    ...pendingChangesets(root).flatMap((path) => {
      const [, front = ""] =
        /^---\n([\s\S]*?)\n---/.exec(readFileSync(join(root, path), "utf8")) ?? [];
      return BUMPS.map((name, place) =>
        new RegExp(String.raw`^\S+: ${name}$`, "m").test(front) ? place : -1,
      );
    }),
  );
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  return (
    [`${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`][step] ??
    version
  );
}
