import type { BlobEntry } from "../blob/types.ts";
import { StorageError } from "../errors.ts";

/** The line of a blob, without its end. */
export function formatBlobLine({ sha256, size, owners }: BlobEntry): string {
  return JSON.stringify({ sha256, size, owners });
}

/** The blob of a line; `STORAGE_CORRUPT` when it is none. */
export function parseBlobLine(text: string): BlobEntry {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (!isBlob(parsed)) throw new StorageError("STORAGE_CORRUPT", "a blob whose line is damaged");
  return parsed;
}

function isBlob(value: unknown): value is BlobEntry {
  if (typeof value !== "object" || value === null) return false;
  const { sha256, size, owners } = value as Partial<Record<string, unknown>>;
  return (
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    Number.isSafeInteger(size) &&
    Array.isArray(owners) &&
    owners.every((owner) => typeof owner === "string")
  );
}
