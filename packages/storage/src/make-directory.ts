import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a directory and those above it that are missing, for their owner alone (mode 0700). Existing
 * directories stay as they are. Throws the error of the file system.
 *
 * Not by the `recursive` option of Node, which never returns where a file system has no place for new
 * directories and says so by ENOENT, as `/proc` does.
 */
export function makeDirectory(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === path) throw error;
    makeDirectory(parent);
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
