import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * The folder that holds everything of a configuration: the nearest one, from the root module upwards, that is a work tree of git;
 * without any the folder of the root module.
 */
export function findBundleRoot(directory: string): string {
  const own = resolve(directory);
  for (let folder = own; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return own;
  }
}
