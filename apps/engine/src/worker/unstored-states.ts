import { chmod, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@stackwright/base/logger";
import { findUnstoredState } from "../executor/stored-mark.ts";

/** Where a worker keeps states that it could not store, in its directory. They are removed by people alone. */
const FOLDER = "unstored-states";

interface KeepParts {
  /** The directory of the workers of this machine. */
  readonly directory: string;
  readonly logger: Logger;
}

/**
 * Keeps the state that a tool wrote into the folder of a step and that is not stored: its only copy is there. Resolves with its path,
 * or with undefined where there is none.
 */
export async function keepUnstoredState(
  { directory, logger }: KeepParts,
  folder: string,
  run: string,
): Promise<string | undefined> {
  const found = await findUnstoredState(folder);
  if (found === undefined) return undefined;
  const states = join(directory, FOLDER);
  await mkdir(states, { recursive: true, mode: 0o700 });
  const path = await freePath(states, run);
  await rename(found, path);
  await chmod(path, 0o600);
  for (const durable of [path, states]) {
    await using file = await open(durable, "r");
    await file.sync();
  }
  logger.error({ run, path }, "the last state of a tool is not stored; the worker keeps it");
  return path;
}

/** Says of a kept state where it is, and what is to be done with it. */
export function keptText(path: string): string {
  return `the last state is not stored in the stack; the worker keeps it in ${path}: compare it with the state of the stack, and store it with "terraform state push" ("An unstored state" in stack-tools.md)`;
}

/**
 * Removes the folder of a step, and keeps a state that would be lost with it. Where that is not possible the folder stays, and false
 * is the answer.
 */
export async function removeStepFolder(
  parts: KeepParts,
  folder: string,
  run: string,
): Promise<boolean> {
  try {
    await keepUnstoredState(parts, folder, run);
  } catch (error) {
    parts.logger.error(
      { run, folder, err: error },
      "the last state of a tool could not be kept, so that its folder stays",
    );
    return false;
  }
  // Files of a bundle cannot be written, and so not removed without their folder's mode, which is ours.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  return true;
}

/** Removes the folder of a worker with those of its steps, and keeps the states that would be lost with them. */
export async function removeWorkerFolder(parts: KeepParts, path: string): Promise<void> {
  // Another worker may remove it at the same time.
  const names = await readdir(path).catch(() => []);
  let isEmpty = true;
  for (const name of names) {
    const [, run] = /^run-([\w-]+)-\w{6}$/.exec(name) ?? [];
    if (run === undefined) continue;
    if (!(await removeStepFolder(parts, join(path, name), run))) isEmpty = false;
  }
  if (isEmpty) await rm(path, { recursive: true, force: true, maxRetries: 3 });
}

/** A path that no other state has, reserved by an empty file. */
async function freePath(states: string, run: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const path = join(states, number === 1 ? `${run}.tfstate` : `${run}-${number}.tfstate`);
    try {
      await (await open(path, "wx", 0o600)).close();
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}
