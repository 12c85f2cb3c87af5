import type { BlobCapabilities } from "./types.ts";

/** A stored blob. */
export interface BlobHead {
  readonly sha256: string;
  readonly size: number;
  /** Bytes of each chunk but the last. */
  readonly chunkBytes: number;
  /** Where its chunks are. */
  readonly content: string;
}

/** A chunk and the SHA-256 that it had when it was written. */
export interface BlobChunk {
  readonly sha256: Uint8Array;
  readonly bytes: Uint8Array;
}

/** The account that a blob counts against, and the bytes that all blobs of it may have. */
export interface BlobCharge {
  readonly owner: string;
  /** @default unlimited */
  readonly quotaBytes?: number;
}

/** A content that is being written and does not exist yet. */
export interface BlobUpload {
  /** Adds the next chunk. */
  append(position: number, chunk: BlobChunk): Promise<void>;
  /**
   * Makes the blob exist durably and holds it for at least so long, in one step. If it exists
   * already, that one is held and this content is dropped. With a charge the blob counts against the
   * owner in the same step; `STORAGE_QUOTA_EXCEEDED` when the owner's blobs would exceed the quota,
   * unless the blob counts against the owner already.
   */
  finish(blob: Omit<BlobHead, "content">, holdMs: number, charge?: BlobCharge): Promise<void>;
  /** Drops the content. */
  abort(): Promise<void>;
}

/**
 * What a blob store needs of the place where its bytes are: an object store with multipart uploads,
 * one small mutable time per object and a conditional delete could do it as well.
 *
 * Times are milliseconds of one clock that all users of a store share.
 */
export interface BlobEngine {
  readonly capabilities: BlobCapabilities;
  now(): Promise<number>;
  begin(): Promise<BlobUpload>;
  head(sha256: string): Promise<BlobHead | undefined>;
  /** Those that exist; each is held for at least so long from now, in the step that finds it. */
  hold(sha256: readonly string[], holdMs: number): Promise<readonly BlobHead[]>;
  chunk(blob: BlobHead, position: number): Promise<BlobChunk | undefined>;
  /** The accounts that a blob counts against; none of one that does not exist. */
  owners(sha256: string): Promise<readonly string[]>;
  /** Some blobs whose holds ended before a time, in order, after the given one. */
  expired(before: number, after: string, limit: number): Promise<readonly string[]>;
  /** Removes a blob, and what it counts against, if its hold ended before a time, in one step. */
  remove(sha256: string, before: number): Promise<boolean>;
  /** Removes unfinished uploads without an addition since a time; returns their number. */
  removeUploads(before: number): Promise<number>;
  close(): Promise<void>;
}
