import { lstat, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import type { ToolFolder } from "./tool-folder.ts";

// While a tool applies, a file in the folder of the job says which of its states is stored. A worker that removes the folder, also
// one that comes after a killed one, sees by it whether the last copy of a state would go with it.

/** The file, in the folder of a job. */
const FILE = "stored-state.json";
/** Bytes of it. */
const MAX_BYTES = 16 * 1024;

type StatePaths = Pick<ToolFolder, "statePath" | "erroredPath">;

/** Where the newest state of a tool is: one that cannot write its state writes it elsewhere. */
export async function newestStatePath({ erroredPath, statePath }: StatePaths): Promise<string> {
  return (await stat(erroredPath).catch(() => undefined)) === undefined ? statePath : erroredPath;
}

/** What changes with each state that a tool writes; empty where there is none. */
export async function markOfState(paths: StatePaths): Promise<string> {
  const path = await newestStatePath(paths);
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  const name = path === paths.erroredPath ? "errored" : "state";
  return found === undefined ? "" : `${name} ${found.mtimeNs} ${found.size}`;
}

/** Whether the newest state has no bytes: it was not written, or not yet again. */
export async function isEmptyState(paths: StatePaths): Promise<boolean> {
  return (await stat(await newestStatePath(paths)).catch(() => undefined))?.size === 0;
}

/** Notes that the state with a mark is stored. */
export async function writeStoredMark(
  folder: string,
  { statePath, erroredPath }: StatePaths,
  mark: string,
): Promise<void> {
  const text = JSON.stringify({
    state: relative(folder, statePath),
    errored: relative(folder, erroredPath),
    mark,
  });
  const path = join(folder, FILE);
  await writeFile(`${path}.part`, text, { mode: 0o600 });
  await rename(`${path}.part`, path);
}

/**
 * The file with a state that a tool wrote and that is not stored, unless it has no bytes, in the folder of a job whose processes have ended. Providers write
 * to that folder as well: what is not a file in it is not found.
 */
export async function findUnstoredState(folder: string): Promise<string | undefined> {
  const file = join(folder, FILE);
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile() !== true || found.size > MAX_BYTES) return undefined;
  const paths = readMark(folder, await readFile(file, "utf8"));
  if (paths === undefined || (await markOfState(paths)) === paths.mark) return undefined;
  const path = await newestStatePath(paths);
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !real.startsWith((await realpath(folder)) + sep)) return undefined;
  const last = await lstat(real);
  return last.isFile() && last.size > 0 ? real : undefined;
}

function readMark(folder: string, text: string): (StatePaths & { mark: unknown }) | undefined {
  let members: { readonly state?: unknown; readonly errored?: unknown; readonly mark?: unknown };
  try {
    members = JSON.parse(text) as typeof members;
  } catch {
    return undefined;
  }
  const { state, errored, mark } = members;
  if (typeof state !== "string" || typeof errored !== "string") return undefined;
  if (isAbsolute(state) || isAbsolute(errored)) return undefined;
  return { statePath: join(folder, state), erroredPath: join(folder, errored), mark };
}
