import type { BlobReference as ReferenceMessage } from "@stackwright/proto/storage";
import { StorageError } from "../../errors.ts";
import type { BlobReference } from "../types.ts";

// Between blobs and the messages of `stackwright.storage.v1.Blobs`.

/** Most bytes of content in one message. */
const PIECE_BYTES = 256 * 1024;

export function digestToMessage(sha256: string): Buffer {
  return Buffer.from(sha256, "hex");
}

export function messageToDigest(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

export function referenceToMessage(reference: BlobReference): ReferenceMessage {
  return { sha256: digestToMessage(reference.sha256), size: BigInt(reference.size) };
}

/** `STORAGE_INCONSISTENT` for none. */
export function messageToReference(message: ReferenceMessage | undefined): BlobReference {
  if (message === undefined) {
    throw new StorageError("STORAGE_INCONSISTENT", "an answer without a blob");
  }
  return { sha256: messageToDigest(message.sha256), size: Number(message.size) };
}

/** Cuts what is too large for one message. Shares the bytes. */
export function* cutPieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}
