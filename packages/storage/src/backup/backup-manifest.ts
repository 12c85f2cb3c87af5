import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { StorageError } from "../errors.ts";

// A backup is a folder:
//
//   manifest.json    what the backup holds; written last
//   resources.jsonl  one line for each resource (`resource-line.ts`)
//   blobs.jsonl      one line for each blob (`blob-line.ts`)
//   blobs/<first two digits>/<sha256>   the content of a blob
//
// It is made under another name (`backup-folder.ts`) and gets its own when it is complete and synced.

/** Names of the files of a backup. */
export const MANIFEST_FILE = "manifest.json";
export const RESOURCES_FILE = "resources.jsonl";
export const BLOBS_FILE = "blobs.jsonl";

const FORMAT = "stackwright-store-backup";

/** The layout that this release writes, and the newest that it reads. */
const FORMAT_VERSION = 1;

/** A file of a backup. */
export interface BackupFile {
  /** Lines of the file. */
  readonly count: number;
  readonly bytes: number;
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string;
}

/** What a backup holds. */
export interface BackupManifest {
  /** ISO 8601 time at which the backup was complete. */
  readonly createdAt: string;
  readonly store: {
    /** Name of the engine. */
    readonly engine: string;
    /** The line of the store: the epoch of its cursors. */
    readonly line: string;
    /** The resources are those after this commit of the line. */
    readonly revision: number;
  };
  readonly resources: BackupFile;
  /** `blobBytes` are those of the contents. */
  readonly blobs: BackupFile & { readonly blobBytes: number };
  /** What the store had lost already, by name: damaged blobs, and blobs that resources refer to in vain. */
  readonly lost: readonly string[];
}

/** The text of a manifest. Its digest covers all else. */
export function formatManifest(manifest: BackupManifest): string {
  const content = { format: FORMAT, formatVersion: FORMAT_VERSION, ...manifest };
  return `${JSON.stringify({ ...content, digest: digestOf(content) }, undefined, 2)}\n`;
}

/**
 * The manifest of a backup. `STORAGE_NOT_FOUND` where none is, as in the folder of an interrupted backup;
 * `STORAGE_SCHEMA` when a newer release wrote it; `STORAGE_CORRUPT` when it is not what was written.
 */
export async function readManifest(directory: string): Promise<BackupManifest> {
  const path = join(directory, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
    throw new StorageError(
      "STORAGE_NOT_FOUND",
      `${directory} is not a complete backup: it has no ${MANIFEST_FILE}`,
      { cause: error },
    );
  }
  const damaged = new StorageError("STORAGE_CORRUPT", `${path} is damaged`);
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    throw damaged;
  }
  if (!isStoredManifest(stored)) throw damaged;
  const { digest, ...content } = stored;
  if (digest !== digestOf(content)) throw damaged;
  const { format: _format, formatVersion, ...manifest } = content;
  if (formatVersion > FORMAT_VERSION) {
    throw new StorageError(
      "STORAGE_SCHEMA",
      `${path} has format ${formatVersion} of a newer release`,
    );
  }
  return manifest;
}

interface StoredManifest extends BackupManifest {
  readonly format: string;
  readonly formatVersion: number;
  readonly digest: string;
}

function isStoredManifest(value: unknown): value is StoredManifest {
  if (typeof value !== "object" || value === null) return false;
  const { format, formatVersion, digest } = value as Partial<Record<string, unknown>>;
  // All else is what was written if the digest is right.
  return format === FORMAT && Number.isSafeInteger(formatVersion) && typeof digest === "string";
}

function digestOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}
