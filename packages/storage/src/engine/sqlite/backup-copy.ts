import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";

/** Pages copied between two turns of the writer. */
const PAGES_PER_STEP = 256;

/**
 * How far a copy's revisions are moved ahead, so that it does not give out versions again that the
 * original issued after the copy was made.
 */
const REVISION_GAP = 1_000_000_000;

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
    startNewLine(partial);
    chmodSync(partial, 0o600);
    sync(partial);
    renameSync(partial, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function startNewLine(path: string): void {
  using copy = new DatabaseSync(path);
  copy.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
  copy.exec(`
    DELETE FROM event;
    UPDATE store SET
      epoch = lower(hex(randomblob(16))),
      revision = revision + ${REVISION_GAP},
      compacted = revision + ${REVISION_GAP},
      clean = 1;
  `);
}

function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
