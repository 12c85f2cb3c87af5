import type { BlobReference, Content } from "@stackwright/proto/stackwright";
import { isStorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { EngineError } from "../errors.ts";

/** A value larger than this goes into the blob store. */
const MAX_INLINE_BYTES = 64 * 1024;
/** Further values go there, the largest first, until a resource is smaller than this. */
const MAX_RESOURCE_BYTES = 256 * 1024;

/** Bytes within the resource; {@link spillContents} may move them out of it. */
export function inlineContent(bytes: Uint8Array): Content {
  return { place: { $case: "inline", value: bytes } };
}

/**
 * Moves what is too large out of a message, by changing its contents in place, and resolves when the blobs are durable.
 * `encodedBytes` returns the current size of the message.
 */
export async function spillContents(
  contents: readonly Content[],
  encodedBytes: () => number,
  blobs: BlobStore,
): Promise<void> {
  const bySize = contents
    .map((content) => ({ content, bytes: inlineBytes(content) }))
    .sort((a, b) => b.bytes.length - a.bytes.length);
  for (const { content, bytes } of bySize) {
    const large = bytes.length > MAX_INLINE_BYTES;
    // Moving out what is smaller than a reference would gain nothing.
    if (!large && (bytes.length < 128 || encodedBytes() <= MAX_RESOURCE_BYTES)) return;
    const { sha256, size } = await blobs.write(bytes);
    content.place = { $case: "blob", value: { sha256, size: BigInt(size) } };
  }
}

/** The bytes of a content. `ENGINE_STATE_CORRUPT` when its blob is gone. */
export async function loadContent(
  content: Content | undefined,
  blobs: BlobStore,
): Promise<Uint8Array> {
  const place = content?.place;
  if (place?.$case !== "blob") return place?.value ?? new Uint8Array();
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of blobs.read(place.value.sha256)) chunks.push(chunk);
  } catch (error) {
    if (!isStorageError(error, "STORAGE_NOT_FOUND")) throw error;
    throw new EngineError("ENGINE_STATE_CORRUPT", `the blob ${place.value.sha256} is gone`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks);
}

/** The blobs that hold contents. */
export function blobsOf(contents: readonly Content[]): BlobReference[] {
  return contents.flatMap(({ place }) => (place?.$case === "blob" ? [place.value] : []));
}

function inlineBytes({ place }: Content): Uint8Array {
  return place?.$case === "inline" ? place.value : new Uint8Array();
}
