import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { BackendArguments } from "./backend-arguments.ts";

/**
 * Refuses a file that an argument or a variable names and that is in none of the folders: where somebody else than the user of this
 * process asks, it would be read with the rights of the process, and sent to a server that they choose.
 *
 * @param folders undefined: any file is read
 */
export function requireNamedFile(
  path: string,
  folders: readonly string[] | undefined,
  configuration: BackendArguments,
): void {
  if (folders === undefined) return;
  const named = resolve(path);
  const real = realPath(named);
  for (const folder of folders) {
    if (isWithin(folder, named) && (real === undefined || isWithin(realPath(folder), real))) return;
  }
  throw configuration.invalid(
    "a file that is named leads out of the configuration, whose files alone are read here",
  );
}

/** Undefined where there is none: to read it says so. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isWithin(folder: string | undefined, file: string): boolean {
  if (folder === undefined) return false;
  const way = relative(folder, file);
  return !isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`);
}
