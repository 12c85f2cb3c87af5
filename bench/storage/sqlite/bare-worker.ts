import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

// The baseline: a thread that runs the statements of a compare-and-swap with its event, and nothing
// else. One message is one transaction, as a program without group commit would do it.

const { path } = workerData as { path: string };
const database = new DatabaseSync(path);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec(`
  CREATE TABLE store (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, compacted INTEGER NOT NULL) STRICT;
  INSERT INTO store VALUES (1, 0, 0);
  CREATE TABLE resource (
    key BLOB NOT NULL UNIQUE, uid TEXT NOT NULL, version TEXT NOT NULL, owner BLOB,
    body BLOB NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX resource_owner ON resource (owner) WHERE owner IS NOT NULL;
  CREATE TABLE event (
    revision INTEGER PRIMARY KEY, operation INTEGER NOT NULL, version TEXT NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
`);

const insert = database.prepare("INSERT INTO resource VALUES (?, ?, ?, NULL, ?, 0)");
const update = database.prepare(
  "UPDATE resource SET version = ?, owner = NULL, body = ?, checksum = 0 " +
    "WHERE key = ? AND uid = ? AND version = ?",
);
const event = database.prepare("INSERT INTO event VALUES (?, 1, ?, ?, 0)");
const position = database.prepare("UPDATE store SET revision = ?, compacted = ?");
const forget = database.prepare("DELETE FROM event WHERE revision <= ?");

const HISTORY = 16_384;
const STEP = 512;
let revision = 0;
let compacted = 0;

/** A write on its way to the worker. */
export interface BareWrite {
  readonly id: number;
  readonly key: string;
  readonly expected: string;
  readonly body: Uint8Array;
}

parentPort?.on("message", ({ id, key, expected, body }: BareWrite) => {
  database.exec("BEGIN IMMEDIATE");
  const next = revision + 1;
  const bytes = Buffer.from(key);
  const changed =
    expected === ""
      ? insert.run(bytes, "u", String(next), body)
      : update.run(String(next), body, bytes, "u", expected);
  if (changed.changes === 1) {
    revision = next;
    event.run(revision, String(revision), body);
    if (revision - compacted > HISTORY + STEP) {
      compacted = revision - HISTORY;
      forget.run(compacted);
    }
    position.run(revision, compacted);
  }
  database.exec("COMMIT");
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage({ id, version: changed.changes === 1 ? String(next) : undefined });
});
