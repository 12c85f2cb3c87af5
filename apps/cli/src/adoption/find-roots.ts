import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** Directories that hold no root modules of a repository. */
const SKIPPED = new Set(["node_modules", "vendor"]);
const MAX_DEPTH = 12;

/**
 * The root modules below a directory: each has configuration files and a `backend` or `cloud` block, a state file or a
 * record of init. A directory that is only called as a module has none of these. Sorted, relative to the directory.
 */
export function findRoots(directory: string): string[] {
  const found: string[] = [];
  const visit = (path: string, depth: number): void => {
    const entries = readdirSync(path, { withFileTypes: true });
    const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    if (isRoot(path, names)) found.push(relative(directory, path) || ".");
    if (depth >= MAX_DEPTH) return;
    for (const entry of entries) {
      if (!entry.isDirectory() || entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue;
      if (entry.name === "terraform.tfstate.d") continue;
      visit(join(path, entry.name), depth + 1);
    }
  };
  visit(resolve(directory), 0);
  return found.toSorted();
}

function isRoot(path: string, names: readonly string[]): boolean {
  // Hidden ones are links of editors to nowhere.
  const files = names.filter((name) => /^[^.].*\.(tf|tofu)(\.json)?$/.test(name));
  if (files.length === 0) return false;
  if (names.includes("terraform.tfstate") || existsSync(join(path, "terraform.tfstate.d"))) {
    return true;
  }
  if (existsSync(join(path, ".terraform/terraform.tfstate"))) return true;
  return files.some((name) => hasBackendBlock(readFileSync(join(path, name), "utf8")));
}

/** Whether a file may have such a block; what it says is read by the language later. */
function hasBackendBlock(text: string): boolean {
  return (
    /^[ \t]*(backend\s+"[^"]+"|cloud)\s*\{/m.test(text) || /"(backend|cloud)"\s*:\s*[{[]/.test(text)
  );
}

/** The root of the repository that a directory is in; the directory itself where it is in none. */
export function repositoryRoot(directory: string): string {
  for (let path = resolve(directory); ; path = dirname(path)) {
    if (existsSync(join(path, ".git"))) return path;
    if (dirname(path) === path) return resolve(directory);
  }
}
