import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestProjectConfiguration, UserWorkspaceConfig } from "vitest/config";
import { ReportWriter } from "./tools/ci/src/vitest-reporter.ts";

/** Folders whose direct children may hold tests. */
const PARENTS = ["packages", "apps", "tools"];

/** One vitest project for every workspace package, with the given files. */
export function workspaceProjects(
  root: string,
  files: { readonly include: string[]; readonly exclude: string[] },
): TestProjectConfiguration[] {
  return PARENTS.flatMap((parent) => {
    const folder = join(root, parent);
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .toSorted()
      .filter((name) => existsSync(join(folder, name, "package.json")))
      .map((name): UserWorkspaceConfig & { extends: true } => ({
        extends: true,
        test: { name, root: join(folder, name), ...files },
      }));
  });
}

/** What a person reads, and the report for `.ci/run` where `STACKWRIGHT_REPORT` asks for it. */
export function reporters(root: string): ["default", ...ReportWriter[]] {
  const path = process.env.STACKWRIGHT_REPORT;
  return path === undefined ? ["default"] : ["default", new ReportWriter(path, root)];
}
