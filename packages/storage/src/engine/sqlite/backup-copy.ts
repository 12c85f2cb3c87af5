import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { StorageError } from "../../errors.ts";
import { startNewLine } from "./store-line.ts";

/** Pages copied between two turns of the writer. */
const PAGES_PER_STEP = 256;

// A copy cannot begin while the writer's connection has a transaction. Its first step is made by
// another thread and so may meet one, however short. SQLite tries later steps again by itself.
const BEGIN_ATTEMPTS = 1_000;
const BEGIN_PAUSE_MS = 10;

/**
 * Copies an open database to a file while it is being written to. The copy goes through the writer's
 * own connection, which carries later writes over instead of starting again. It appears under its
 * name only when it is complete and synced, and is a new line of history: with another epoch,
 * cursors of the original mean nothing to it.
 */
export async function backupTo(database: DatabaseSync, path: string): Promise<void> {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  try {
    closeSync(openSync(partial, "wx", 0o600));
    await copyPages(database, partial);
    finishCopy(partial);
    chmodSync(partial, 0o600);
    sync(partial);
    renameSync(partial, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

async function copyPages(database: DatabaseSync, path: string): Promise<void> {
  for (let attempt = 0; attempt < BEGIN_ATTEMPTS; attempt += 1) {
    try {
      await backup(database, path, { rate: PAGES_PER_STEP });
      return;
    } catch (error) {
      if (!metTransaction(error)) throw error;
    }
    await delay(BEGIN_PAUSE_MS);
  }
  throw new StorageError(
    "STORAGE_INCONSISTENT",
    "the backup could not begin: there was a write at each attempt; try again",
  );
}

/** Node reports the state of the copy, which has no error, for a first step that was refused. */
function metTransaction(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 0;
}

function finishCopy(path: string): void {
  using copy = new DatabaseSync(path);
  copy.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
  startNewLine(copy);
  copy.exec("DELETE FROM line; UPDATE store SET clean = 1");
}

function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
