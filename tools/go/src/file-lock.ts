import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Runs `work` while this process alone holds the lock of that name, among all processes of the
 * machine. Waits until `signal` fires, then rejects with its reason.
 *
 * The lock is an exclusive transaction on an empty SQLite database: the operating system drops it with the process, so
 * a holder that was killed blocks no other process and there is no stale lock to judge.
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  options: { readonly signal?: AbortSignal; readonly pollMs?: number } = {},
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    while (!tryBegin(database)) {
      await delay(options.pollMs ?? 200, undefined, { signal: options.signal }).catch((error) => {
        throw options.signal?.reason ?? error;
      });
    }
    return await work();
  } finally {
    database.close();
  }
}

const SQLITE_BUSY = 5;

function tryBegin(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
