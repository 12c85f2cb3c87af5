import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { describeDamage } from "../engine/sqlite/damage.ts";
import { isStorageError } from "../errors.ts";

// The thread that has the database of an SQLite blob store. It runs one statement, or one list of
// statements as a transaction, per message, in the order in which they come.

/** One statement with its parameters. */
export interface BlobStatement {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/** What the thread is asked. */
export interface BlobWorkerRequest {
  readonly id: number;
  readonly statements: readonly BlobStatement[];
}

/** Its answer: the rows of each statement, or what went wrong. */
export interface BlobWorkerAnswer {
  readonly id: number;
  readonly rows?: readonly (readonly Record<string, unknown>[])[];
  readonly error?: {
    readonly code: "STORAGE_CORRUPT" | "STORAGE_INCONSISTENT";
    readonly message: string;
  };
}

const LAYOUT = `
  CREATE TABLE IF NOT EXISTS blob (
    sha256 TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    chunk_bytes INTEGER NOT NULL,
    content TEXT NOT NULL,
    held_until REAL NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS blob_held_until ON blob (held_until);
  CREATE TABLE IF NOT EXISTS chunk (
    content TEXT NOT NULL,
    position INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (content, position)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS upload (
    content TEXT PRIMARY KEY,
    active_at REAL NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS claim (
    owner TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (owner, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS claim_sha256 ON claim (sha256);
`;

const port = parentPort;
if (port === null) throw new Error("the blob worker is not a program");
const send = (message: BlobWorkerAnswer): void => port.postMessage(message);

const path = workerData as string;
const database = new DatabaseSync(path, { timeout: 5_000 });
/** Why the database cannot be used: every request is answered with it. */
let unusable: BlobWorkerAnswer["error"];
try {
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec(LAYOUT);
} catch (error) {
  unusable = toError(error);
}

port.on("message", (request: BlobWorkerRequest | "close") => {
  if (request === "close") {
    database.close();
    port.close();
  } else {
    send(answer(request));
    for (const { values } of request.statements) values.forEach(free);
  }
});

function answer({ id, statements }: BlobWorkerRequest): BlobWorkerAnswer {
  if (unusable !== undefined) return { id, error: unusable };
  try {
    database.exec("BEGIN IMMEDIATE");
    const rows = statements.map(({ sql, values }) => database.prepare(sql).all(...values));
    database.exec("COMMIT");
    return { id, rows };
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    return { id, error: toError(error) };
  }
}

function toError(error: unknown): NonNullable<BlobWorkerAnswer["error"]> {
  const described = describeDamage(error, path);
  const code = isStorageError(described, "STORAGE_CORRUPT")
    ? "STORAGE_CORRUPT"
    : "STORAGE_INCONSISTENT";
  return { code, message: described instanceof Error ? described.message : String(described) };
}

/** Frees a parameter, which was given to this thread. Otherwise as much as is written would be in memory until a collection. */
function free(value: SQLInputValue): void {
  if (!(value instanceof Uint8Array) || !(value.buffer instanceof ArrayBuffer)) return;
  if (!value.buffer.detached) value.buffer.transfer(0);
}
