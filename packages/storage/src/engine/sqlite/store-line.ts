import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";

// Recognises a database that is not the continuation of what this directory held: a copy, or an older
// state that was put back. Two things are compared with what the database recorded. The file (inode and
// time of birth) differs after a copy to anywhere. A mark beside the database, drawn again at every open
// and orderly close, differs when an older content was written into the same file. The device is not
// compared, as its number may change when the machine restarts.

/** Name of the file with the mark, beside the database. */
const MARK_FILE = "store.line";

/**
 * How far revisions are moved ahead at least, so that a copy does not give out versions again that the
 * original issued after the copy was made.
 */
const REVISION_GAP = 1_000_000_000;

/**
 * Revisions of a new line begin at the time in milliseconds times this. A store that writes less than
 * 100,000 times a second stays below, so that also the second use of one copy begins above all versions
 * that the first one issued. The numbers keep 15 digits until the year 2286.
 */
const REVISIONS_PER_MS = 100;

/**
 * Starts a new line when the database is a copy or was put back, and records where it is now, and that it is in use: until
 * {@link endLineUse} it counts as not closed in order. The caller holds the writer lock. Returns what an operator should know.
 */
export function continueLine(database: DatabaseSync, path: string): readonly string[] {
  const mark = readMark(path);
  const file = identify(path);
  const known = database.prepare("SELECT token, previous, file FROM line").get();
  const continued =
    known?.file === file && mark !== "" && [known.token, known.previous].includes(mark);
  // Nothing was ever issued by a store without commits.
  const used = Number(database.prepare("SELECT revision FROM store").get()?.revision) > 0;
  const copied = used && !continued;
  mint(database, path, { file, mark, copied, clean: false });
  return copied
    ? [
        "the database was copied, moved to another file system or put back: cursors from before are refused, and versions continue far above",
      ]
    : [];
}

/**
 * Draws another mark, so that what was copied while the store was open is recognised later, and notes with it that nothing is
 * to be recovered. The caller writes nothing more.
 */
export function endLineUse(database: DatabaseSync, path: string): void {
  mint(database, path, { file: identify(path), mark: readMark(path), copied: false, clean: true });
}

/**
 * Fails with `STORAGE_CORRUPT` where there is no database although the mark beside it says that one was in use: a new store in its
 * place would know nothing of what the old one had recorded.
 */
export function refuseEmptied(path: string): void {
  const isEmpty = [path, `${path}-wal`].every(
    (file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0,
  );
  if (!isEmpty || readMark(path) === "") return;
  throw new StorageError(
    "STORAGE_CORRUPT",
    `${path} is empty or gone, and ${markPath(path)} says that there was a store: restore it from a backup; ` +
      "to begin with an empty store instead, delete both",
  );
}

/** Gives the content of an open database another epoch and higher revisions, without its history. */
export function startNewLine(database: DatabaseSync): void {
  const { revision } = database.prepare("SELECT revision FROM store").get() ?? {};
  const first = firstOfNewLine(Number(revision));
  database.exec(`
    DELETE FROM event;
    UPDATE store SET
      epoch = lower(hex(randomblob(16))), revision = ${first}, compacted = ${first};
  `);
}

/** The revision that a new line begins after, when the content goes up to the given one. */
export function firstOfNewLine(revision: number): number {
  return Math.max(revision + REVISION_GAP, Date.now() * REVISIONS_PER_MS);
}

interface Mint {
  readonly file: string;
  /** The mark that the directory has now. */
  readonly mark: string;
  readonly copied: boolean;
  /** Whether the next open finds a store that was closed in order. */
  readonly clean: boolean;
}

/** The database is first: a process that dies before the mark leaves the one that it calls previous. */
function mint(database: DatabaseSync, path: string, { file, mark, copied, clean }: Mint): void {
  const token = randomUUID();
  database.exec("BEGIN IMMEDIATE");
  try {
    if (copied) startNewLine(database);
    database
      .prepare("INSERT OR REPLACE INTO line (id, token, previous, file) VALUES (1, ?, ?, ?)")
      .run(token, mark, file);
    // In the same transaction, which costs one sync.
    database.prepare("UPDATE store SET clean = ?").run(clean ? 1 : 0);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
  writeMark(path, token);
}

function identify(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return `${ino}.${birthtimeNs}`;
}

function markPath(path: string): string {
  return join(dirname(path), MARK_FILE);
}

function readMark(path: string): string {
  try {
    return readFileSync(markPath(path), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

function writeMark(path: string, token: string): void {
  const target = markPath(path);
  const partial = `${target}.partial`;
  const file = openSync(partial, "w", 0o600);
  try {
    writeFileSync(file, token);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, target);
}
