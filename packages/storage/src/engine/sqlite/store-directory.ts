import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { StorageError } from "../../errors.ts";
import { makeDirectory } from "../../make-directory.ts";

/** Name of the database file in the directory of a store. */
const DATABASE_FILE = "store.db";

/**
 * Makes sure that a store's directory exists and is closed to other users (mode 0700): it holds the
 * database, its log and the lock, whose own modes depend on the umask. A directory that is open to
 * others is narrowed only if it is empty or a store already; another one is refused.
 */
export function prepareDirectory(directory: string): void {
  makeDirectory(directory);
  if ((statSync(directory).mode & 0o077) === 0) return;
  const files = readdirSync(directory);
  if (files.length > 0 && !files.includes(DATABASE_FILE)) {
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      `${directory} is open to other users and holds other files`,
      { details: { field: "directory" } },
    );
  }
  chmodSync(directory, 0o700);
}

/** Path of the database in a store's directory. */
export function databasePath(directory: string): string {
  return join(directory, DATABASE_FILE);
}

/** Size of the database with its log, which is all that an open after a crash may have to read; 0 where there is none. */
export function databaseBytes(directory: string): number {
  const path = databasePath(directory);
  const sizes = [path, `${path}-wal`].map(
    (file) => statSync(file, { throwIfNoEntry: false })?.size,
  );
  return sizes.reduce((sum: number, size = 0) => sum + size, 0);
}

/** Fails unless the directory holds a store. */
export function requireStore(directory: string): void {
  if (statSync(databasePath(directory), { throwIfNoEntry: false })?.isFile() === true) return;
  throw new StorageError("STORAGE_INVALID_ARGUMENT", `${directory} holds no store`, {
    details: { field: "directory" },
  });
}
