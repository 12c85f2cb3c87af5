import type { Durability } from "../capabilities.ts";
import type { CallOptions } from "../types.ts";

/** Names a blob. */
export interface BlobReference {
  /** SHA-256 of the content, 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  /** Bytes of the content. */
  readonly size: number;
}

/** A blob and the accounts that it counts against. */
export interface BlobEntry extends BlobReference {
  readonly owners: readonly string[];
}

/** The bytes of a blob as a writer gives them. */
export type BlobContent = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Options of `write`. */
export interface BlobWriteOptions extends CallOptions {
  /** What the content has to be; anything else is `STORAGE_INVALID_ARGUMENT` and leaves nothing. */
  readonly expected?: Partial<BlobReference>;
  /**
   * The account that the blob counts against, in the same step in which the blob begins to exist. A blob
   * counts once for each account that has written it, until it is collected. Without an owner it counts
   * against no quota; over a connection the token's scopes then name the owner.
   */
  readonly owner?: string;
}

/** Options of `read`. */
export interface BlobReadOptions extends CallOptions {
  /** First byte wanted. @default 0 */
  readonly offset?: number;
  /** Most bytes wanted. @default all up to the end */
  readonly length?: number;
  /**
   * Whether reading a whole blob ends with the comparison of its own digest. Every chunk is compared
   * in any case, so without it nothing wrong gets through either, at half the cost.
   *
   * @default true
   */
  readonly compareWhole?: boolean;
}

/** What a collection has to know. */
export interface BlobGcOptions extends CallOptions {
  /**
   * Lists the digests of all blobs that are referred to. Called after the collection has begun; it
   * has to show every reference that was committed before it was called, so it reads strongly.
   */
  readonly references: () => AsyncIterable<string> | Iterable<string>;
  /** Removes nothing, and counts what it would remove; contents of writers that have gone away are not counted. @default false */
  readonly dryRun?: boolean | undefined;
}

/** What a collection has done. */
export interface BlobGcResult {
  /** Blobs removed. */
  readonly removed: number;
  /** Blobs without a reference that are held. */
  readonly held: number;
  /** Contents removed whose writers have gone away. */
  readonly abandoned: number;
}

/** What a blob store promises. */
export interface BlobCapabilities {
  readonly engine: string;
  readonly durability: Durability;
  /** Whether several processes may use one store. */
  readonly shared: boolean;
}

/**
 * Large values beside the resources: immutable, named by the SHA-256 of their content.
 *
 * Lifetime. A blob that is written, or found by `find`, is **held** for a while (`holdMs` of the
 * store). A reference to it has to be committed within that time; who is later asks `find` again. A
 * collection removes only what was not held when it began and is not referred to since. Both are
 * checked in the same step as the removal, so no writer, and no reference committed in time, ever
 * loses its blob to a collection, also under concurrent calls.
 *
 * Errors: `STORAGE_NOT_FOUND`, `STORAGE_CORRUPT` when stored bytes are not what was written,
 * `STORAGE_INVALID_ARGUMENT`, `STORAGE_TOO_LARGE`, `STORAGE_QUOTA_EXCEEDED`, `STORAGE_INCONSISTENT`.
 *
 * Source: the design of this project; `stackwright.storage.v1.Blobs` has the same rules.
 */
export interface BlobStore extends AsyncDisposable {
  readonly capabilities: BlobCapabilities;
  /**
   * Stores a content. The blob exists, durably, when the call resolves; when it fails, or the
   * content throws, nothing does. Content that exists already is kept and held again.
   */
  write(content: BlobContent, options?: BlobWriteOptions): Promise<BlobReference>;
  /**
   * Streams a blob or a part of it. No byte is given out before the chunk around it was compared
   * with its digest; reading a whole blob also ends with the comparison of the blob's own.
   */
  read(sha256: string, options?: BlobReadOptions): AsyncIterable<Uint8Array>;
  /** Returns those of some blobs that exist, and holds them. */
  find(sha256: readonly string[], options?: CallOptions): Promise<readonly BlobReference[]>;
  /**
   * Lists all blobs in the order of their digests, held or not. A blob that exists all the while is listed once.
   * Rejects with `STORAGE_UNSUPPORTED` over a connection.
   */
  list(options?: CallOptions): AsyncIterable<BlobEntry>;
  /** Removes blobs without references. Collections may run concurrently. */
  collect(options: BlobGcOptions): Promise<BlobGcResult>;
  /** Later calls fail with `STORAGE_INCONSISTENT`. */
  close(): Promise<void>;
}
