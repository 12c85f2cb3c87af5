import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { withHitProbes } from "./hit-probes.ts";
import type { TestRunner } from "./test-runner.ts";

/** What the tests of a target do without a mutant. */
export interface Measurement {
  /** Test files that call each `<path>:<function>`. */
  readonly callers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly milliseconds: ReadonlyMap<string, number>;
}

/** Runs every test file once with probes in the sources; a test that fails so cannot judge a mutant and is left out. */
export async function measureTests(
  root: string,
  sources: readonly string[],
  runner: TestRunner,
  hits: string,
  isAsked: (test: string) => boolean,
  limitMs: number,
): Promise<Measurement> {
  const originals = new Map(sources.map((path) => [path, readFileSync(join(root, path), "utf8")]));
  for (const [path, text] of originals) {
    writeFileSync(join(root, path), withHitProbes(path, text));
    runner.changed(join(root, path));
  }
  const callers = new Map<string, Set<string>>();
  const milliseconds = new Map<string, number>();
  for (const test of (await runner.tests()).filter(isAsked)) {
    for (const file of readdirSync(hits)) rmSync(join(hits, file));
    // oxlint-disable-next-line no-await-in-loop -- one after the other, so that their times can be compared
    const verdict = await runner.run(test, limitMs);
    if (verdict.outcome !== "passed") continue;
    milliseconds.set(test, verdict.milliseconds);
    for (const file of readdirSync(hits)) {
      const record = JSON.parse(readFileSync(join(hits, file), "utf8")) as { hits: string[] };
      for (const hit of record.hits) {
        const known = callers.get(hit) ?? new Set();
        callers.set(hit, known.add(test));
      }
    }
  }
  for (const [path, text] of originals) {
    writeFileSync(join(root, path), text);
    runner.changed(join(root, path));
  }
  return { callers, milliseconds };
}

/**
 * The test files that can notice a change in a function of a source: those that call it, those beside the source first and
 * the quick ones before the slow ones, as many as fit into the time.
 */
export function judgesOf(
  { callers, milliseconds }: Measurement,
  path: string,
  owner: number,
  limitMs: number,
): string[] {
  const called =
    owner === -1
      ? new Set(
          [...callers]
            .filter(([hit]) => hit.startsWith(`${path}:`))
            .flatMap(([, tests]) => [...tests]),
        )
      : (callers.get(`${path}:${owner}`) ?? new Set<string>());
  const own = path.replace(/\.ts$/, "");
  const rank = (test: string): number => {
    if (test.startsWith(`${own}.`)) return 0;
    return dirname(test) === dirname(path) ? 1 : 2;
  };
  let sum = 0;
  return [...called]
    .toSorted(
      (left, right) =>
        rank(left) - rank(right) || (milliseconds.get(left) ?? 0) - (milliseconds.get(right) ?? 0),
    )
    .filter((test, index) => {
      const own = milliseconds.get(test) ?? 0;
      if (index > 0 && sum + own > limitMs) return false;
      sum += own;
      return true;
    });
}

/** An empty folder for what test files write about their calls. */
export function hitsFolder(): string {
  return mkdtempSync(join(tmpdir(), "stackwright-hits-"));
}
