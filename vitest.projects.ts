import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { TestProjectConfiguration, UserWorkspaceConfig } from "vitest/config";
import { ReportWriter } from "./tools/ci/src/vitest-reporter.ts";

/** Folders whose direct children may hold tests. */
const PARENTS = ["packages", "apps", "tools"];
/** Folders that hold tests themselves. */
const SINGLE = ["e2e", "bench/all"];

/**
 * Packages whose tests replace modules, or count what their process has open, so that each file has a worker of its own. The files of
 * all others share one with its loaded modules: a worker and the imports of each file would be half of their time.
 */
const OWN_WORKERS = new Set([
  "base",
  "fg-bridge",
  "mux",
  "release",
  "storage",
  "tfplugin",
  "tfstate",
]);

/**
 * Keeps what Node.js compiles for all processes and threads of the tests, most of which begin with the sources of the same
 * packages: with it a thread starts in a fifth of the time. Without it every thread runs the WebAssembly that removes
 * types, and V8 of Node 24 crashes now and then when several threads of a process do (a race in freeing wrapper code).
 */
export function keepCompiledCode(root: string): void {
  process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules", ".cache", "node-compile");
}

/** One vitest project for every workspace package, with the given files. */
export function workspaceProjects(
  root: string,
  files: { readonly include: string[]; readonly exclude: string[] },
  /** Whether the files of every package have a worker each. */
  ownWorkers = false,
): TestProjectConfiguration[] {
  const folders = PARENTS.flatMap((parent) =>
    existsSync(join(root, parent))
      ? readdirSync(join(root, parent)).map((name) => join(parent, name))
      : [],
  );
  return [...folders.toSorted(), ...SINGLE]
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .map((folder): UserWorkspaceConfig & { extends: true } => ({
      extends: true,
      test: {
        name: basename(folder),
        root: join(root, folder),
        isolate: ownWorkers || OWN_WORKERS.has(basename(folder)),
        ...files,
      },
    }));
}

/** The output for developers, and the report for `.ci/run` where `STACKWRIGHT_REPORT` asks for it. */
export function reporters(root: string): ["default", ...ReportWriter[]] {
  const path = process.env.STACKWRIGHT_REPORT;
  return path === undefined ? ["default"] : ["default", new ReportWriter(path, root)];
}
