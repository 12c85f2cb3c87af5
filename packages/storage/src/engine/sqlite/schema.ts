import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";

// Layout of the file.
//
//   store     one row: the epoch of the content, the revision of the last commit, the revision up
//             to which history is gone, and whether the last writer closed in order
//   resource  what is stored now; key = NUL-joined identity as bytes, so that their order is the
//             byte order of prefix scans; version is text, as restored versions are opaque
//   event     the history by revision; of a delete the last body; "at" is when it was committed, in milliseconds
//             since 1970, and never falls from one commit to the next
//   history   at most one row: the bounds of the history, as the last instance with bounds of its own set them
//   line      at most one row: which file this was, and the marks beside it; see store-line.ts
//
// A row id table with a unique index keeps the bodies out of the index pages that lookups and
// prefix scans touch.

/** Marks a database file as a store of this package ("SWst"). */
const APPLICATION_ID = 0x53_57_73_74;

/** Readers need nothing that later layouts have added. */
export const OLDEST_READABLE_LAYOUT = 1;

/** From this layout on commits have times. */
export const DATED_LAYOUT = 3;

/** From this layout on a store keeps the bounds of its history. */
export const BOUNDED_LAYOUT = 4;

/** Steps from layout n to n + 1. Published steps are never changed, only followed by new ones. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    compacted INTEGER NOT NULL,
    clean INTEGER NOT NULL
  ) STRICT;
  INSERT INTO store VALUES (1, lower(hex(randomblob(16))), 0, 0, 1);

  CREATE TABLE resource (
    key BLOB NOT NULL UNIQUE,
    uid TEXT NOT NULL,
    version TEXT NOT NULL,
    owner BLOB,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX resource_owner ON resource (owner) WHERE owner IS NOT NULL;

  CREATE TABLE event (
    revision INTEGER PRIMARY KEY,
    operation INTEGER NOT NULL,
    version TEXT NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE line (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    token TEXT NOT NULL,
    previous TEXT NOT NULL,
    file TEXT NOT NULL
  ) STRICT;
  `,
  // Commits from before have no time and count as the next one that has: the last of them, which has that of this step.
  `
  ALTER TABLE event ADD COLUMN at INTEGER;
  UPDATE event SET at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
    WHERE revision = (SELECT max(revision) FROM event);
  `,
  `
  CREATE TABLE history (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    max_age_ms INTEGER
  ) STRICT;
  `,
];

/**
 * Brings a database to the newest layout, one transaction per step (an empty one in one): a process that dies in a step
 * leaves the layout before it, and the next open repeats it. `STORAGE_SCHEMA` for a layout of a
 * newer release and for a database that is not a store.
 */
export function migrate(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  let version = checkLayout(database, migrations);
  const missing = migrations.slice(version);
  // An empty file has no layout to stop at: it becomes a store at once, with one sync.
  const groups = version === 0 ? [missing] : missing.map((step) => [step]);
  for (const steps of groups) {
    version += steps.length;
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const step of steps) database.exec(step);
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      database.exec(`PRAGMA user_version = ${version}`);
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }
}

/** The layout of a database, 0 of an empty one; `STORAGE_SCHEMA` when this release cannot use it. */
export function checkLayout(
  database: DatabaseSync,
  migrations: readonly string[] = MIGRATIONS,
): number {
  const version = pragmaNumber(database, "user_version");
  const application = pragmaNumber(database, "application_id");
  const tables = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get();
  if (version === 0 && tables?.count === 0) return 0;
  if (application !== APPLICATION_ID) {
    throw new StorageError("STORAGE_SCHEMA", "the file is another application's database");
  }
  if (version > migrations.length) {
    throw new StorageError(
      "STORAGE_SCHEMA",
      `the store has layout ${version}, this release knows up to ${migrations.length}`,
    );
  }
  return version;
}

/** The value of a pragma that is a number. */
export function pragmaNumber(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  return Number(Object.values(row ?? {})[0] ?? 0);
}
