import { accessSync, constants } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import { checkRows, checkStructure, describeDamage } from "./damage.ts";
import type { IntegrityCheck } from "./protocol.ts";
import { checkLayout, migrate, OLDEST_READABLE_LAYOUT } from "./schema.ts";
import { databasePath, requireStore } from "./store-directory.ts";
import { continueLine, refuseEmptied } from "./store-line.ts";
import { inspectLog, logNotice } from "./write-ahead-log.ts";

/** An open database and what its operator should know about how it was found. */
interface OpenedDatabase {
  readonly database: DatabaseSync;
  readonly notices: readonly string[];
}

/** How long a connection waits for another one, which at most checkpoints or backs up. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * Opens the database of a store for writing, creating it when there is none, brings it to the newest
 * layout and checks it. The caller holds the writer lock.
 *
 * `STORAGE_CORRUPT` when the check fails, `STORAGE_SCHEMA` for a layout it cannot use.
 */
export function openForWriting(directory: string, check: IntegrityCheck): OpenedDatabase {
  const path = databasePath(directory);
  refuseEmptied(path);
  const log = inspectLog(`${path}-wal`);
  const database = connect(path, false);
  try {
    // Every acknowledged commit is in the log and synced: it survives a power failure.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    database.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`);
    const notice = logNotice(log, database);
    migrate(database);
    const clean = database.prepare("SELECT clean FROM store").get()?.clean === 1;
    checkIntegrity(database, path, check, clean);
    const notices = [...(notice === undefined ? [] : [notice]), ...continueLine(database, path)];
    return { database, notices };
  } catch (error) {
    database.close();
    throw describeDamage(error, path);
  }
}

/** Opens the database of a store for reading, also beside a writer. */
export function openForReading(directory: string): DatabaseSync {
  const path = databasePath(directory);
  refuseEmptied(path);
  requireStore(directory);
  const database = connect(path, true);
  try {
    const layout = checkLayout(database);
    if (layout < OLDEST_READABLE_LAYOUT) {
      throw new StorageError(
        "STORAGE_SCHEMA",
        `the store has layout ${layout}; a writer of this release has to open it first`,
      );
    }
    return database;
  } catch (error) {
    database.close();
    throw unwritable(directory, error) ?? describeDamage(error, path);
  }
}

/** A reader shares an index of the log with the writer, in a file beside the database that it may have to make. */
function unwritable(directory: string, error: unknown): StorageError | undefined {
  const SQLITE_CANTOPEN = 14;
  const code = (error as { errcode?: number }).errcode;
  if (code === undefined || (code & 0xff) !== SQLITE_CANTOPEN) return undefined;
  try {
    accessSync(directory, constants.W_OK);
    return undefined;
  } catch {
    return new StorageError(
      "STORAGE_INCONSISTENT",
      `${directory} cannot be written to, and a reader of a store needs a file in it; mount its file system ` +
        "for writing, or read a copy of the store",
      { cause: error, details: { outcome: "not-applied" } },
    );
  }
}

/** Opens one more connection to a database that is open already. */
export function openReader(directory: string): DatabaseSync {
  return connect(databasePath(directory), true);
}

function connect(path: string, readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly, timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    return database;
  } catch (error) {
    database.close();
    throw describeDamage(error, path);
  }
}

/**
 * `auto` checks rows against indexes after a writer that did not close in order, and the structure of
 * the pages otherwise. Content is compared with its checksum whenever it is read, and all of it by
 * `full` only: one row that has decayed is no reason to refuse all others.
 */
function checkIntegrity(
  database: DatabaseSync,
  path: string,
  check: IntegrityCheck,
  clean: boolean,
): void {
  if (check === "none") return;
  checkStructure(database, path, check === "full" || (check === "auto" && !clean));
  if (check === "full") checkRows(database, path);
}
