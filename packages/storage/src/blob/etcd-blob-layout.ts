import type { KeyRange } from "../engine/etcd/layout.ts";
import { StorageError } from "../errors.ts";
import type { BlobHead } from "./blob-engine.ts";

// Keys below the root of a store, beside those of its resources:
//
//   b/blob/<sha256>                  a blob: size, chunks, end of its hold, accounts that it counts against
//   b/chunk/<content> / <position>   32 bytes of SHA-256, then the bytes; the position has ten digits
//   b/upload/<content>               a content without a blob: the time of the last addition to it
//   b/usage/<account, hexadecimal>   bytes of the blobs of an account
//
// A content belongs to a blob or to an upload: one transaction makes it change hands, in both directions.

/** Bytes of the digest before the bytes of a chunk. */
const DIGEST_BYTES = 32;

/** A blob as it is stored. */
export interface StoredBlob extends BlobHead {
  /** When its hold ends, in milliseconds of the store's clock. */
  readonly heldUntil: number;
  readonly owners: readonly string[];
}

/** The keys of the blobs of one store. */
export class EtcdBlobLayout {
  readonly #root: string;

  /** @param root the beginning of all keys of the store */
  constructor(root: string) {
    this.#root = `${root}b/`;
  }

  blob(sha256: string): Buffer {
    return Buffer.from(`${this.#root}blob/${sha256}`);
  }

  /** The blobs behind one, by their digests; all behind the empty text. */
  blobsAfter(sha256: string): KeyRange {
    const key = Buffer.from(`${this.#root}blob/${sha256}\0`);
    return { key, rangeEnd: Buffer.from(`${this.#root}blob0`) };
  }

  chunk(content: string, position: number): Buffer {
    return Buffer.from(`${this.#root}chunk/${content}/${String(position).padStart(10, "0")}`);
  }

  /** All chunks of a content. */
  chunks(content: string): KeyRange {
    const prefix = `${this.#root}chunk/${content}`;
    return { key: Buffer.from(`${prefix}/`), rangeEnd: Buffer.from(`${prefix}0`) };
  }

  upload(content: string): Buffer {
    return Buffer.from(`${this.#root}upload/${content}`);
  }

  /** The uploads behind a key; all without one. */
  uploadsAfter(key?: Uint8Array): KeyRange {
    const first = Buffer.from(`${this.#root}upload/`);
    return {
      key: key === undefined ? first : Buffer.concat([key, Buffer.from([0])]),
      rangeEnd: Buffer.from(`${this.#root}upload0`),
    };
  }

  /** The content of an upload, by its key. */
  contentOf(key: Uint8Array): string {
    return Buffer.from(key).toString("utf8").slice(`${this.#root}upload/`.length);
  }

  usage(owner: string): Buffer {
    return Buffer.from(`${this.#root}usage/${Buffer.from(owner).toString("hex")}`);
  }
}

export function encodeBlob(blob: StoredBlob): Buffer {
  const { size, chunkBytes, content, heldUntil, owners } = blob;
  return Buffer.from(JSON.stringify({ size, chunkBytes, content, heldUntil, owners }));
}

/** Reads a blob by key and value. `STORAGE_CORRUPT` for what is none. */
export function decodeBlob(kv: {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}): StoredBlob {
  const sha256 = Buffer.from(kv.key).toString("utf8").slice(-64);
  try {
    const found = JSON.parse(Buffer.from(kv.value).toString("utf8")) as Omit<StoredBlob, "sha256">;
    const isBlob =
      Number.isSafeInteger(found.size) &&
      found.chunkBytes > 0 &&
      typeof found.content === "string" &&
      typeof found.heldUntil === "number" &&
      Array.isArray(found.owners);
    if (isBlob) return { ...found, sha256 };
  } catch {
    // The same as a value that is something else.
  }
  throw new StorageError("STORAGE_CORRUPT", `the entry of blob ${sha256} is damaged`);
}

export function encodeChunk(sha256: Uint8Array, bytes: Uint8Array): Buffer {
  return Buffer.concat([sha256, bytes]);
}

export function decodeChunk(value: Uint8Array): {
  readonly sha256: Uint8Array;
  readonly bytes: Uint8Array;
} {
  return { sha256: value.subarray(0, DIGEST_BYTES), bytes: value.subarray(DIGEST_BYTES) };
}

/** Reads a number that a key holds; 0 without the key. */
export function decodeNumber(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(Buffer.from(value).toString("utf8"));
}
