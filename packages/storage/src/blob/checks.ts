import { StorageError } from "../errors.ts";
import type { BlobCharge } from "./blob-engine.ts";
import type { BlobReference } from "./types.ts";

/** Most bytes of an owner's name: engines put it into names of files. */
const MAX_OWNER_BYTES = 100;

// What every blob store asks of its arguments, and what it says of blobs.

/** `STORAGE_INVALID_ARGUMENT` for what is no digest. */
export function checkDigest(sha256: string): void {
  if (/^[0-9a-f]{64}$/.test(sha256)) return;
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "not a SHA-256 in lower-case hexadecimal", {
    details: { field: "sha256" },
  });
}

/** `STORAGE_INVALID_ARGUMENT` for what is no part of a blob. */
export function checkRange(offset: number, length: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0 && length >= 0) return;
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "not a range of bytes", {
    details: { field: "offset" },
  });
}

/** `STORAGE_INVALID_ARGUMENT` for another content than the one that was announced. */
export function checkExpected(actual: BlobReference, expected: Partial<BlobReference> = {}): void {
  const { sha256 = actual.sha256, size = actual.size } = expected;
  if (actual.sha256 === sha256 && actual.size === size) return;
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "the content is not what was announced", {
    details: { field: "content" },
  });
}

export function blobNotFound(sha256: string): StorageError {
  return new StorageError("STORAGE_NOT_FOUND", `there is no blob ${sha256}`);
}

export function blobCorrupt(sha256: string): StorageError {
  return new StorageError("STORAGE_CORRUPT", `the stored bytes of blob ${sha256} are damaged`);
}

/** `STORAGE_INVALID_ARGUMENT` for a name that no owner can have. */
export function checkOwner(owner: string): void {
  const bytes = Buffer.byteLength(owner);
  if (bytes > 0 && bytes <= MAX_OWNER_BYTES && owner.isWellFormed() && !owner.includes("\0"))
    return;
  throw new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    `the owner of a blob has 1 to ${MAX_OWNER_BYTES} bytes of text`,
    { details: { field: "owner" } },
  );
}

/** `STORAGE_QUOTA_EXCEEDED` for a blob of `size` bytes beyond the `used` bytes of an owner. */
export function quotaExceeded(charge: BlobCharge, used: number, size: number): StorageError {
  const { owner, quotaBytes: limit = 0 } = charge;
  return new StorageError(
    "STORAGE_QUOTA_EXCEEDED",
    `the quota of account "${owner}" is exceeded: its blobs have ${used} of ${limit} bytes, and the new one has ` +
      `${size}; delete old versions, stacks or plans and wait for the next collection, or ask the operator of ` +
      "the store for a larger quota",
    { details: { field: "content", owner, used, limit, actual: used + size } },
  );
}
