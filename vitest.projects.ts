import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestProjectConfiguration } from "vitest/config";

/** Folders whose direct children may hold tests. */
const PARENTS = ["packages", "apps", "tools"];

/** One vitest project for every workspace package that has a `src` folder, with the given files. */
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
      .map((name) => ({
        extends: true as const,
        test: { name, root: join(folder, name), ...files },
      }));
  });
}
