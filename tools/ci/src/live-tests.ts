import { existsSync, globSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { LiveQueue } from "./live-queue.ts";
import { addTallies, type Tally, tallyCommand, tallyVitest } from "./tally.ts";

/** Lanes that run side by side, each with servers of its own. With more of them two cores are too slow for tests of outages and leases. */
const LANES = 2;

/** How long a lane has for the file that it is at when no further one begins: that is what files take on a machine that is busy. */
const LAST_FILE_MS = 7 * 60_000;
/** So much of that is of the time of the suite; the rest is what the whole run keeps for its end. */
const EARLIER_MS = 3 * 60_000;

/** Files that take a minute and longer, the longest first: they begin first, so that no lane is left with one at the end. */
export const LONG_FILES: readonly string[] = [
  "packages/storage/src/engine/postgres.live.test.ts",
  "apps/engine/src/runs-kill.live.test.ts",
  "e2e/src/aws/network.live.test.ts",
  "apps/engine/src/runs-soak.live.test.ts",
  "e2e/src/start/start.live.test.ts",
  "apps/engine/src/store-outage.live.test.ts",
  "apps/engine/src/canceled-kill.live.test.ts",
  "apps/engine/src/console/console-keyboard.live.test.ts",
  "apps/engine/src/console/console-appearance.live.test.ts",
  "packages/storage/src/engine/etcd.live.test.ts",
  "apps/engine/src/tfe-api/remote-execution.live.test.ts",
  "packages/storage/src/engine/remote-sqlite.live.test.ts",
  "apps/engine/src/console/console-decisions.live.test.ts",
  "packages/tfplugin/src/serve/real-command.live.test.ts",
  "apps/engine/src/console/console-pages.live.test.ts",
  "e2e/src/scenarios/main-job/two-people.live.test.ts",
  "apps/engine/src/console/console-screenshots.live.test.ts",
  "apps/engine/src/worker/run-worker.live.test.ts",
  "apps/engine/src/worker/container-worker.live.test.ts",
  "apps/engine/src/console/console-journeys.live.test.ts",
  "apps/engine/src/console/console-states.live.test.ts",
  "apps/cli/src/server/serve-functions.live.test.ts",
  "apps/engine/src/console/console.live.test.ts",
  "packages/storage/src/engine/postgres/large-content.live.test.ts",
  "apps/engine/src/own-registry.live.test.ts",
  "apps/cli/src/server/server-away.live.test.ts",
];

/** All files with live tests, in the order in which they begin. What the time does not suffice for changes with the seed. */
export function orderedLiveFiles(root: string, seed: number): readonly string[] {
  const found = globSync("{packages/*,apps/*,tools/*,e2e}/src/**/*.live.test.ts", { cwd: root });
  const files = found.filter((file) => !LONG_FILES.includes(file)).toSorted();
  const first = files.length === 0 ? 0 : seed % files.length;
  return [
    ...LONG_FILES.filter((file) => found.includes(file)),
    ...files.slice(first),
    ...files.slice(0, first),
  ];
}

/**
 * Runs the live tests in lanes. A file that no lane came to in time counts as skipped, with that reason; one that does
 * not end, as failed.
 */
export async function runLiveTests(options: {
  readonly root: string;
  readonly reports: string;
  readonly seed: number;
  /** What is left for all of it, but for the file that is the last one of a lane. */
  readonly timeMs: number;
}): Promise<Tally> {
  const { root, reports, seed } = options;
  const until = Date.now() + Math.round(options.timeMs) - EARLIER_MS;
  // What users do is tried with what users get: the built packages. All else runs the sources.
  await using installation = await mkdtempDisposable(join(tmpdir(), "an installation "));
  const layOut = await runSuiteCommand(
    [process.execPath, join(root, "e2e/src/main.ts"), "lay-out", installation.path],
    { cwd: root, timeoutMs: 5 * 60_000 },
  );
  await using folder = await mkdtempDisposable(join(tmpdir(), "live-queue-"));
  const files = orderedLiveFiles(root, seed);
  if (files.length === 0) return { passed: 0, failed: ["no live test was found"], skipped: [] };
  const queue = LiveQueue.create(folder.path, files);
  const env = {
    STACKWRIGHT_SLICE: String(seed),
    ...(layOut.code === 0 && { E2E_INSTALLATION: installation.path }),
  };
  const lane = async (at: number): Promise<Tally> => {
    const report = join(reports, `live-${at + 1}.json`);
    const servers = [process.execPath, join(root, "tools/servers/src/main.ts"), "exec"];
    const words = ["--queue", folder.path, "--until", String(until)];
    const program = [process.execPath, join(root, "tools/ci/src/live-lane.ts"), ...words];
    const result = await runSuiteCommand([...servers, "--", ...program] as [string, ...string[]], {
      cwd: root,
      timeoutMs: Math.max(0, until - Date.now()) + LAST_FILE_MS,
      env: { ...env, STACKWRIGHT_REPORT: report },
    });
    // A lane that began when the others had taken all files has nothing to report.
    if (result.code === 0 && !existsSync(report)) return { passed: 0, failed: [], skipped: [] };
    return tallyVitest(report, result);
  };
  const lanes = await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)));
  const left = queue.takeRest().map((file) => `${file}: not run, since the time was used up`);
  return addTallies([
    tallyCommand("the built packages, laid out for the scenarios,", layOut),
    ...lanes,
    { passed: 0, failed: [], skipped: left },
  ]);
}
