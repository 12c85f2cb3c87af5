import type { BlobStore } from "@stackwright/storage/blob";

/** Bytes of a plan that is read as a whole. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A blob as text; undefined where there is none, or where it is too large to be shown. */
export async function readText(
  blobs: BlobStore,
  sha256: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (sha256 === "") return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of blobs.read(sha256, { signal })) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
