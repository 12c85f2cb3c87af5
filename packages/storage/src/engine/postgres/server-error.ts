import postgres from "postgres";
import { StorageError, type StorageErrorDetails } from "../../errors.ts";
import type { CallKind } from "./connections.ts";

/** Failures of the connection that come before anything was sent. */
const NOT_SENT = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_ENDED",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** Refusals of a connection: too many of them, starting up, shutting down, not the primary. */
const NOT_CONNECTED = new Set(["53300", "57P03", "08001", "08004"]);

/** What the server says where it, a database or a role has as many connections as it is allowed to have. */
const TOO_MANY_CONNECTIONS = "53300";

/** What the server says when a file cannot grow. */
const DISK_FULL = "53100";

/** What it says where a role may not log in, or may not do something. */
const RIGHTS = /^(?:28|42501)/;

/** Where it says that the functions failed which come before the first commit of a group. */
const WITHIN_WRITES = /\bapply_(?:group|steps|writes)\(/;

/** What the server says of its own files when they are damaged. */
const DAMAGED = new Set(["XX001", "XX002"]);

/**
 * The `STORAGE_INCONSISTENT` of a failed call, or `STORAGE_PERMISSION_DENIED` where nothing was written, `STORAGE_CORRUPT` where the server has found its
 * files damaged, and `STORAGE_INVALID_ARGUMENT` for a proxy that has no sessions. Of a write it says
 * whether anything can have happened: an error of the server ends the transaction, unless it takes
 * the session with it or is none of the statement itself (canceled, no memory): those can hit between the commit and its
 * acknowledgement, unless the server says that they hit before.
 */
export function toStorageError(thrown: unknown, kind: CallKind): StorageError {
  if (thrown instanceof StorageError) return thrown;
  // The migrator and the query builder wrap what the server says.
  const error = serverErrorOf(thrown) ?? thrown;
  const code = errorCode(error);
  const isCommitted = kind === "write" && isBehindCommit(error);
  if (error instanceof postgres.PostgresError && RIGHTS.test(code) && !isCommitted) {
    return new StorageError("STORAGE_PERMISSION_DENIED", error.message, { cause: error });
  }
  if (error instanceof Error && error.message.startsWith("unsupported startup parameter")) {
    return noSessions(error);
  }
  const notSent = NOT_SENT.has(code);
  const applied = error instanceof postgres.PostgresError ? mayHaveCommitted(error) : !notSent;
  const details: StorageErrorDetails =
    kind === "read" ? {} : { outcome: applied ? "unknown" : "not-applied" };
  if (error instanceof postgres.PostgresError && code === DISK_FULL) {
    const message = `the disk of the store's server is full: ${error.message}`;
    return new StorageError("STORAGE_INCONSISTENT", message, { cause: error, details });
  }
  if (error instanceof postgres.PostgresError && code === TOO_MANY_CONNECTIONS) {
    const message =
      `the server of the store has no connection left: ${error.message}; raise max_connections or the limit of ` +
      "the role or the database, or let the store have fewer connections";
    return new StorageError("STORAGE_INCONSISTENT", message, { cause: error, details });
  }
  if (error instanceof postgres.PostgresError && DAMAGED.has(code)) {
    const message = `the server of the store has found damage: ${error.message}`;
    return new StorageError("STORAGE_CORRUPT", message, { cause: error, details });
  }
  if (!notSent) return StorageError.from(error, details);
  // What the system says of an address does not say whose it is, and a client of a server knows neither.
  const why = error instanceof Error ? error.message : String(error);
  const message = `the database of the store cannot be reached: ${why}`;
  return new StorageError("STORAGE_INCONSISTENT", message, { cause: error, details });
}

/** The refusal of what is between the store and its server. */
export function noSessions(cause?: unknown): StorageError {
  return new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    "the URL leads to a proxy that does not keep the settings of a session, such as PgBouncer; " +
      "name the address of the PostgreSQL server itself",
    { cause, details: { field: "url" } },
  );
}

/**
 * Whether what failed may have been committed before: with the session, or between the commit and the sync of it. What fails within
 * the functions that write has not come to the commit.
 */
function mayHaveCommitted(error: postgres.PostgresError): boolean {
  if (error.severity !== "ERROR") return !NOT_CONNECTED.has(error.code);
  if (RIGHTS.test(error.code)) return isBehindCommit(error);
  return /^(53|57|58|XX)/.test(error.code) && !WITHIN_WRITES.test(error.where ?? "");
}

/**
 * Whether a failure is of the procedures that write, and not of what they do before their first commit: as where the right to a
 * sequence that they read afterwards is withdrawn.
 */
function isBehindCommit(error: unknown): boolean {
  const where = error instanceof postgres.PostgresError ? (error.where ?? "") : "";
  return /\bwrite_(?:alone|group)\(/.test(where) && !WITHIN_WRITES.test(where);
}

/** Whether a further connection was refused: nothing was sent on it, and the others are as they were. */
export function isConnectionRefused(error: unknown): boolean {
  return serverErrorOf(error)?.code === TOO_MANY_CONNECTIONS;
}

/** The answer of the server that an error is about, if it is. */
export function serverErrorOf(error: unknown): postgres.PostgresError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof postgres.PostgresError) return cause;
  }
  return undefined;
}

function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return String(error.code);
}
