import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGunzip, gunzip } from "node:zlib";
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

/**
 * Whether a blob has the schema that is named. It is looked at piece by piece, and kept nowhere: many runs may hand in large ones at the same
 * time.
 */
export async function hasSchema(
  blobs: Pick<BlobStore, "read">,
  { digest, bytes, blob }: Pick<Required<OfferedSchema>, "digest" | "bytes" | "blob">,
): Promise<boolean> {
  if (bytes > MAX_SCHEMA_BYTES || blob.bytes > MAX_SCHEMA_BLOB_BYTES) return false;
  const hash = createHash("sha256");
  let [packed, size] = [0, 0];
  let failed: unknown;
  const content = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of blobs.read(blob.sha256)) {
        packed += chunk.length;
        if (packed > blob.bytes) return;
        yield chunk;
      }
    } catch (error) {
      failed = error;
      throw error;
    }
  };
  try {
    await pipeline(content, createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > bytes) throw new RangeError("the schema is larger than was said");
        hash.update(chunk);
      }
    });
  } catch {
    const isOfStore = failed !== undefined;
    if (isOfStore && !isStorageError(failed, "STORAGE_NOT_FOUND", "STORAGE_CORRUPT")) throw failed;
    return false;
  }
  return packed === blob.bytes && size === bytes && hash.digest("hex") === digest;
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
