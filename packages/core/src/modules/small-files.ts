import { lstatSync, rmdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";

/*
 * Modules are many small files. For those the thread pool costs several times what the system call does, so they are read and
 * written at once, and other work gets its turn in between.
 */

/** Larger files are read and written in parts. */
export const SMALL_FILE_BYTES = 256 * 1024;

/** Files between two turns of other work: some milliseconds. */
const STEPS = 32;

/** Lets other work run after so many steps that did not wait for anything. */
export class Pauses {
  #steps = 0;

  async step(): Promise<void> {
    this.#steps += 1;
    if (this.#steps % STEPS === 0) await setImmediate();
  }
}

/** Whether a path leads to a folder. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

/** Removes a folder, which mostly is empty or gone, with what is in it. */
export async function removeFolder(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  try {
    rmdirSync(path);
  } catch {
    await rm(path, { recursive: true, force: true });
  }
}
