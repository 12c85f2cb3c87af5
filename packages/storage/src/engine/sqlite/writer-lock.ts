import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import { describeDamage } from "./damage.ts";

// One writer per store. The lock is an exclusive transaction on an empty database beside the store,
// held for the life of the connection: the kernel drops it with the process, however that ends, so
// no lock is ever stale and none has to be stolen from a holder that is only busy. Who holds it is
// written to a file of its own. The lock file itself must not be opened by anything else in this
// process: closing any descriptor of it would drop the kernel's lock.

const LOCK_FILE = "writer.lock";
const HOLDER_FILE = "writer.json";

/** Who writes to a store. */
interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601 time of the open. */
  readonly since: string;
}

/** Takes the writer lock of a directory, or fails with `STORAGE_LOCKED`, which names the holder. */
export function acquireWriterLock(directory: string): Disposable {
  const lock = new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    const SQLITE_BUSY = 5;
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) {
      throw damagedLock(error, join(directory, LOCK_FILE));
    }
    const holder = readHolder(directory);
    const who =
      holder === undefined
        ? "another process"
        : `process ${holder.pid} on ${holder.host} since ${holder.since}`;
    throw new StorageError("STORAGE_LOCKED", `${directory} is being written to by ${who}`, {
      cause: error,
      details: holder === undefined ? {} : { holder },
    });
  }
  const holder: LockHolder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
  };
  try {
    writeFileSync(join(directory, HOLDER_FILE), JSON.stringify(holder), { mode: 0o600 });
  } catch (error) {
    // The thread may be that of the caller, which would keep the lock.
    lock.close();
    throw error;
  }
  return { [Symbol.dispose]: () => lock.close() };
}

/** A lock file has no content, so nothing is lost with one that is damaged. */
function damagedLock(error: unknown, path: string): unknown {
  const described = describeDamage(error, path);
  if (!(described instanceof StorageError)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StorageError(
    "STORAGE_CORRUPT",
    `${path} is damaged (${reason}): it is the lock of the store, which holds nothing; delete it while no process uses the store`,
    { cause: error },
  );
}

function readHolder(directory: string): LockHolder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(join(directory, HOLDER_FILE), "utf8"));
    return isHolder(holder) ? holder : undefined;
  } catch {
    // Not written yet, or half written by a holder that just started: the lock is taken all the same.
    return undefined;
  }
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== "object" || value === null) return false;
  const { pid, host, since } = value as Partial<Record<keyof LockHolder, unknown>>;
  return typeof pid === "number" && typeof host === "string" && typeof since === "string";
}
