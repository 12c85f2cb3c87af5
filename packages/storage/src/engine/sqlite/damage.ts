import type { DatabaseSync } from "node:sqlite";
import { damagedError, describeStored, idOfKey } from "../../damaged-resource.ts";
import { StorageError, type StorageErrorDetails } from "../../errors.ts";
import type { ResourceId } from "../../resource.ts";
import type { BodyRow, Located } from "./protocol.ts";
import { isIntact } from "./rows.ts";

// What is said about a file that is damaged: which one, what of it, and what can be done. SQLite itself
// says "database disk image is malformed", which names none of them.

/** Findings that an error names; of more it is not worth reading all. */
const MOST_FINDINGS = 20;

const ADVICE =
  "restore it from a backup, or read what is left with the .recover command of sqlite3";

/** Turns what SQLite throws at a damaged file into `STORAGE_CORRUPT`; gives everything else back. */
export function describeDamage(
  error: unknown,
  path: string,
  details: StorageErrorDetails = {},
): unknown {
  if (error instanceof StorageError || !(error instanceof Error)) return error;
  const code = (error as { errcode?: number }).errcode;
  const SQLITE_CORRUPT = 11;
  const SQLITE_NOTADB = 26;
  if (code === undefined || ![SQLITE_CORRUPT, SQLITE_NOTADB].includes(code & 0xff)) return error;
  const message = `${path} is damaged (${error.message}): ${ADVICE}`;
  return new StorageError("STORAGE_CORRUPT", message, { cause: error, details });
}

/** Fails with `STORAGE_CORRUPT` unless SQLite's own check finds the structure in order. */
export function checkStructure(database: DatabaseSync, path: string, full: boolean): void {
  const findings = database
    .prepare(`PRAGMA ${full ? "integrity_check" : "quick_check"}(${MOST_FINDINGS})`)
    .all()
    .map((row) => String(Object.values(row)[0]));
  if (findings.length === 1 && findings[0] === "ok") return;
  throw new StorageError("STORAGE_CORRUPT", `${path} is damaged (${list(findings)}): ${ADVICE}`);
}

/** Fails with `STORAGE_CORRUPT` unless every row of the store and its history has its checksum. */
export function checkRows(database: DatabaseSync, path: string): void {
  const findings: string[] = [];
  for (const row of database
    .prepare("SELECT key, uid, version, body, checksum FROM resource")
    .iterate()) {
    const columns = row as unknown as BodyRow & Located;
    if (!isIntact(columns)) findings.push(describeStored(toId(columns), columns.version));
  }
  for (const row of database.prepare("SELECT revision, body, checksum FROM event").iterate()) {
    const event = row as unknown as BodyRow & { readonly revision: number };
    if (!isIntact(event)) findings.push(`event ${event.revision} of the history`);
  }
  if (findings.length === 0) return;
  throw new StorageError(
    "STORAGE_CORRUPT",
    `${path}: the checksums of ${findings.length} rows do not match their content: ` +
      `${list(findings)}; open the store with the check "auto" and write or delete these resources, ` +
      "or restore it from a backup",
  );
}

/** The error of a row whose content is not what was written. */
export function damagedRow(path: string, found: Located | undefined): StorageError {
  if (found === undefined) {
    return new StorageError(
      "STORAGE_CORRUPT",
      `${path}: the checksum of an event of the history does not match its content; watch again`,
    );
  }
  const reason = "the checksum does not match the content";
  return damagedError({ id: toId(found), version: found.version, reason }, path);
}

/** Which resource has this row, if it still has it. */
export function locateRow(
  database: DatabaseSync,
  { version, checksum }: Pick<BodyRow, "version" | "checksum">,
): Located | undefined {
  const statement = "SELECT key, uid, version FROM resource WHERE version = ? AND checksum = ?";
  return database.prepare(statement).get(version, checksum) as unknown as Located | undefined;
}

function toId({ key, uid }: Located): ResourceId {
  return idOfKey(Buffer.from(key).toString(), uid);
}

function list(findings: readonly string[]): string {
  const shown = findings.slice(0, MOST_FINDINGS).join("; ");
  const more = findings.length - MOST_FINDINGS;
  return more > 0 ? `${shown}; and ${more} more` : shown;
}
