import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { TestProjectConfiguration, UserWorkspaceConfig } from "vitest/config";
import { ReportWriter } from "./tools/ci/src/vitest-reporter.ts";

/** Folders whose direct children may hold tests. */
const PARENTS = ["packages", "apps", "tools"];
/** Folders that hold tests themselves. */
const SINGLE = ["e2e"];

/** One vitest project for every workspace package, with the given files. */
export function workspaceProjects(
  root: string,
  files: { readonly include: string[]; readonly exclude: string[] },
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
      test: { name: basename(folder), root: join(root, folder), ...files },
    }));
}

/** What a person reads, and the report for `.ci/run` where `STACKWRIGHT_REPORT` asks for it. */
export function reporters(root: string): ["default", ...ReportWriter[]] {
  const path = process.env.STACKWRIGHT_REPORT;
  return path === undefined ? ["default"] : ["default", new ReportWriter(path, root)];
}
