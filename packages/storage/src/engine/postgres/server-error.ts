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

/**
 * The `STORAGE_INCONSISTENT` of a failed call, or `STORAGE_PERMISSION_DENIED`. Of a write it says
 * whether anything can have happened: an error of the server ends the transaction, unless it takes
 * the session with it, which can hit between the commit and its acknowledgement.
 */
export function toStorageError(error: unknown, kind: CallKind): StorageError {
  if (error instanceof StorageError) return error;
  const code = errorCode(error);
  if (error instanceof postgres.PostgresError && /^(28|42501)/.test(code)) {
    return new StorageError("STORAGE_PERMISSION_DENIED", error.message, { cause: error });
  }
  const notSent = NOT_SENT.has(code);
  const applied = error instanceof postgres.PostgresError ? endsSession(error) : !notSent;
  const details: StorageErrorDetails =
    kind === "read" ? {} : { outcome: applied ? "unknown" : "not-applied" };
  if (!notSent) return StorageError.from(error, details);
  // What the system says of an address does not say whose it is, and a client of a server knows neither.
  const why = error instanceof Error ? error.message : String(error);
  const message = `the database of the store cannot be reached: ${why}`;
  return new StorageError("STORAGE_INCONSISTENT", message, { cause: error, details });
}

function endsSession(error: postgres.PostgresError): boolean {
  return error.severity !== "ERROR" && !NOT_CONNECTED.has(error.code);
}

function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return String(error.code);
}
