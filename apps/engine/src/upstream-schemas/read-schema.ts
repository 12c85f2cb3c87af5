import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { isStorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import {
  MAX_SCHEMA_BLOB_BYTES,
  MAX_SCHEMA_BYTES,
  type OfferedSchema,
} from "../domain/upstream-schema.ts";

const unzip = promisify(gunzip);

/** The schema that a blob has; undefined where there is no such blob, or it has another content or size than is said. */
export async function readSchema(
  blobs: Pick<BlobStore, "read">,
  { digest, bytes, blob }: Pick<Required<OfferedSchema>, "digest" | "bytes" | "blob">,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Uint8Array | undefined> {
  if (bytes > MAX_SCHEMA_BYTES) return undefined;
  const packed = await contentOf(blobs, blob, signal);
  if (packed?.length !== blob.bytes) return undefined;
  let schema: Buffer;
  try {
    schema = await unzip(packed, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    return undefined;
  }
  const found = createHash("sha256").update(schema).digest("hex");
  return found === digest && schema.length === bytes ? schema : undefined;
}

async function contentOf(
  blobs: Pick<BlobStore, "read">,
  { sha256, bytes }: Required<OfferedSchema>["blob"],
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of blobs.read(sha256, signal && { signal })) {
      size += chunk.length;
      if (size > Math.min(bytes, MAX_SCHEMA_BLOB_BYTES)) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    if (isStorageError(error, "STORAGE_NOT_FOUND", "STORAGE_CORRUPT")) return undefined;
    throw error;
  }
  return Buffer.concat(chunks);
}
