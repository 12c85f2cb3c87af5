import { statfsSync } from "node:fs";
import { StorageError } from "../../errors.ts";

/** With less than this the next page of the file, its log or the index of the log has no place. */
const LEAST_BYTES = 64 * 1024;

const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

/** Turns what is thrown on a full disk into an error that says which store lacks space; gives everything else back. */
export function describeFullDisk(error: unknown, directory: string): unknown {
  const cause = error instanceof StorageError ? error.cause : error;
  if (!(cause instanceof Error) || !isOfFullDisk(cause, directory)) return error;
  const details =
    error instanceof StorageError ? error.details : { outcome: "not-applied" as const };
  return new StorageError(
    "STORAGE_INCONSISTENT",
    `no space is left for the store ${directory} (${cause.message}): make some on its file system; what was written before is kept`,
    { cause, details: { ...details, fullDisk: directory } },
  );
}

function isOfFullDisk(error: Error, directory: string): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number };
  if (code === "ENOSPC" || code === "EDQUOT") return true;
  if (errcode === undefined) return false;
  const kind = errcode & 0xff;
  // The index of the log is a mapped file, and a log is a new one: SQLite calls their lack of space by other names.
  const mayBe = kind === SQLITE_IOERR || kind === SQLITE_CANTOPEN;
  return kind === SQLITE_FULL || (mayBe && lacksSpace(directory));
}

function lacksSpace(directory: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(directory);
    // A file system without a limit of files counts none.
    return bavail * bsize < LEAST_BYTES || (files > 0 && ffree === 0);
  } catch {
    return false;
  }
}
