import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { startNewLine } from "./store-line.ts";

/** Pages copied between two turns of the writer. */
const PAGES_PER_STEP = 256;

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
    await backup(database, partial, { rate: PAGES_PER_STEP });
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
