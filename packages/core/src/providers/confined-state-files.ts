import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";

interface ConfinedStateFilesOptions {
  /** Paths start there. */
  readonly directory: string;
  /** The folder that they may not leave. */
  readonly root: string;
  readonly maxBytes: number;
}

/**
 * Reads state files for somebody else than the user of this process: those of the configuration alone. A path or link out of it is
 * an error, whether there is a file or not.
 */
export function confinedStateFiles({
  directory,
  root,
  maxBytes,
}: ConfinedStateFilesOptions): (
  path: string,
  options: { signal?: AbortSignal },
) => Promise<Uint8Array | undefined> {
  return async (path, { signal }) => {
    const outside = new Error(
      `${JSON.stringify(path)} leads out of the configuration, whose files alone a run on a server reads`,
    );
    const named = resolve(directory, path);
    if (!isWithin(root, named)) throw outside;
    let file: string;
    try {
      file = await realpath(named);
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? ""))
        return undefined;
      throw error;
    }
    if (!isWithin(await realpath(root), file)) throw outside;
    const found = await stat(file);
    if (!found.isFile()) throw new Error(`${JSON.stringify(path)} is not a file`);
    if (found.size > maxBytes) {
      throw new Error(`the state ${JSON.stringify(path)} is larger than ${maxBytes} bytes`);
    }
    return readFile(file, { signal });
  };
}

function isWithin(root: string, file: string): boolean {
  const way = relative(root, file);
  return !isAbsolute(way) && way !== ".." && !way.startsWith("../") && !way.startsWith("..\\");
}
