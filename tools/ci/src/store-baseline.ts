import { readFileSync, writeFileSync } from "node:fs";
import { countProse, type findProse, type ProseCounts, proseProblems } from "./prose-rules.ts";

/**
 * Writes how many flagged words each file has, unless one has more than the file says until now: a count may only fall, and what the
 * suite refuses must not become the baseline.
 *
 * @returns the words that are too many; nothing was written where there are any
 */
export function storeBaseline(path: string, hits: ReturnType<typeof findProse>): readonly string[] {
  const higher = proseProblems(hits, JSON.parse(readFileSync(path, "utf8")) as ProseCounts);
  if (higher.length === 0) {
    writeFileSync(path, `${JSON.stringify(countProse(hits), undefined, 2)}\n`);
  }
  return higher;
}
