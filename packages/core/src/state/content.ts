import type { BlobReference, Content } from "@stackwright/proto/stackwright";
import { isStorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { EngineError } from "../errors.ts";

/** A value larger than this goes into the blob store. */
const MAX_INLINE_BYTES = 64 * 1024;
/** Further values go there, the largest first, until a resource is smaller than this. */
const MAX_RESOURCE_BYTES = 256 * 1024;
/** Bytes of a text that are encoded at a time; every unit of it takes at most three. */
const PIECE_BYTES = 3 * 64 * 1024;
/** Bytes of the character for half of a pair. */
const REPLACEMENT_BYTES = 3;

/** Bytes within the resource; {@link spillContents} may move them out of it. */
export function inlineContent(bytes: Uint8Array): Content {
  return { place: { $case: "inline", value: bytes } };
}

/** A text, in the blob store where it is too large for a resource: its bytes are never in memory as a whole. */
export async function textContent(text: string, blobs: BlobStore): Promise<Content> {
  if (text.length <= MAX_INLINE_BYTES) return inlineContent(Buffer.from(text, "utf8"));
  const { sha256, size } = await blobs.write(utf8Pieces(text));
  return { place: { $case: "blob", value: { sha256, size: BigInt(size) } } };
}

/** The bytes of a text. Each piece is valid until the next one. */
async function* utf8Pieces(text: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(PIECE_BYTES);
  for (let at = 0; at < text.length; ) {
    // A piece that ends within a pair of surrogates is read without its first half.
    const { read, written } = encoder.encodeInto(text.slice(at, at + PIECE_BYTES / 3), buffer);
    const half = isHighSurrogate(text.charCodeAt(at + read - 1)) && at + read < text.length;
    yield buffer.subarray(0, half ? written - REPLACEMENT_BYTES : written);
    at += half ? read - 1 : read;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
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
