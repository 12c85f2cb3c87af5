import { createHash } from "node:crypto";
import { StorageError } from "../errors.ts";
import type { CallOptions } from "../types.ts";
import type { BlobCharge, BlobEngine, BlobHead } from "./blob-engine.ts";
import {
  blobCorrupt,
  blobNotFound,
  checkDigest,
  checkExpected,
  checkOwner,
  checkRange,
  quotaExceeded,
} from "./checks.ts";
import { cutChunks } from "./chunks.ts";
import type {
  BlobCapabilities,
  BlobContent,
  BlobEntry,
  BlobGcOptions,
  BlobGcResult,
  BlobReadOptions,
  BlobReference,
  BlobStore,
  BlobWriteOptions,
} from "./types.ts";

/** Options of every blob store. */
export interface BlobStoreOptions {
  /**
   * How long a blob is kept after it was written or found without being referred to.
   *
   * @default one hour
   */
  readonly holdMs?: number;
  /** How long a writer may pause before its content counts as abandoned. @default one hour */
  readonly uploadIdleMs?: number;
  /** Largest blob. @default 16 GiB */
  readonly maxBytes?: number;
  /** Bytes per chunk of new blobs. @default 256 KiB */
  readonly chunkBytes?: number;
  /** Bytes that all blobs of one owner may have. @default unlimited */
  readonly ownerQuotaBytes?: number;
}

const HOUR = 3_600_000;
const EXPIRED_PAGE = 500;

/** The last time that dates can name, in milliseconds: every hold ends before it. */
const END_OF_TIME = 8.64e15;

// A collection, and why it cannot take what a writer needs:
//
//   1. t := the store's clock
//   2. live := all references, read after 1
//   3. remove each blob not in live whose hold ended before t; the engine compares the hold in the
//      same step as it removes
//
// Let a writer commit a reference while its hold lasts. If the hold lasted at t, 3 does not remove
// the blob. If it ended before t, the reference was committed before t, so 2 shows it. A writer that
// comes in between (same content again, or find) holds the blob again: either before 3 compares, and
// it stays, or after it is gone, and the writer writes it, or its `find` does not return it.

/** The {@link BlobStore} over an engine. */
export class ChunkedBlobStore implements BlobStore {
  readonly #engine: BlobEngine;
  readonly #holdMs: number;
  readonly #uploadIdleMs: number;
  readonly #maxBytes: number;
  readonly #chunkBytes: number;
  readonly #ownerQuotaBytes: number | undefined;
  #closing: Promise<void> | undefined;

  constructor(engine: BlobEngine, options: BlobStoreOptions = {}) {
    this.#engine = engine;
    this.#holdMs = options.holdMs ?? HOUR;
    this.#uploadIdleMs = options.uploadIdleMs ?? HOUR;
    this.#maxBytes = options.maxBytes ?? 16 * 1024 ** 3;
    this.#chunkBytes = options.chunkBytes ?? 256 * 1024;
    this.#ownerQuotaBytes = options.ownerQuotaBytes;
  }

  get capabilities(): BlobCapabilities {
    return this.#engine.capabilities;
  }

  async write(content: BlobContent, options: BlobWriteOptions = {}): Promise<BlobReference> {
    this.#begin(options);
    if (options.expected?.sha256 !== undefined) checkDigest(options.expected.sha256);
    const charge = this.#charge(options.owner);
    const upload = await this.#engine.begin();
    try {
      const hash = createHash("sha256");
      let size = 0;
      let position = 0;
      for await (const bytes of cutChunks(content, this.#chunkBytes)) {
        this.#begin(options);
        size += bytes.length;
        if (size > this.#maxBytes) {
          throw new StorageError(
            "STORAGE_TOO_LARGE",
            `a blob has at most ${this.#maxBytes} bytes`,
            {
              details: { field: "content", limit: this.#maxBytes, actual: size },
            },
          );
        }
        // What fits into no quota is not stored first. The exact comparison is that of the last step.
        if (charge?.quotaBytes !== undefined && size > charge.quotaBytes) {
          throw quotaExceeded(charge, 0, size);
        }
        hash.update(bytes);
        await answered(upload.append(position, { bytes, sha256: sha256Of(bytes) }));
        position += 1;
      }
      this.#begin(options);
      const reference = { sha256: hash.digest("hex"), size };
      checkExpected(reference, options.expected);
      const blob = { ...reference, chunkBytes: this.#chunkBytes };
      await answered(upload.finish(blob, this.#holdMs, charge));
      return reference;
    } catch (error) {
      await upload.abort().catch(() => undefined);
      throw error;
    }
  }

  async *read(sha256: string, options: BlobReadOptions = {}): AsyncGenerator<Uint8Array> {
    this.#begin(options);
    checkDigest(sha256);
    const { offset = 0, length = Number.POSITIVE_INFINITY } = options;
    checkRange(offset, length);
    const blob = await this.#engine.head(sha256);
    if (blob === undefined) throw blobNotFound(sha256);
    const end = Math.min(blob.size, offset + length);
    const compareWhole = options.compareWhole ?? true;
    const whole =
      compareWhole && offset === 0 && end === blob.size ? createHash("sha256") : undefined;
    const first = Math.floor(offset / blob.chunkBytes);
    for (let position = first; position * blob.chunkBytes < end; position += 1) {
      this.#begin(options);
      const bytes = await this.#readChunk(blob, position);
      whole?.update(bytes);
      const start = position * blob.chunkBytes;
      yield bytes.subarray(Math.max(0, offset - start), Math.min(bytes.length, end - start));
    }
    if (whole !== undefined && whole.digest("hex") !== sha256) throw blobCorrupt(sha256);
  }

  async find(
    sha256: readonly string[],
    options: CallOptions = {},
  ): Promise<readonly BlobReference[]> {
    this.#begin(options);
    for (const digest of sha256) checkDigest(digest);
    const found = await this.#engine.hold([...new Set(sha256)], this.#holdMs);
    return found.map((blob) => ({ sha256: blob.sha256, size: blob.size }));
  }

  async *list(options: CallOptions = {}): AsyncGenerator<BlobEntry> {
    let after = "";
    for (;;) {
      this.#begin(options);
      const page = await this.#engine.expired(END_OF_TIME, after, EXPIRED_PAGE);
      for (const sha256 of page) {
        this.#begin(options);
        const blob = await this.#engine.head(sha256);
        // Removed since.
        if (blob === undefined) continue;
        yield { sha256, size: blob.size, owners: await this.#engine.owners(sha256) };
      }
      const last = page.at(-1);
      if (last === undefined || page.length < EXPIRED_PAGE) return;
      after = last;
    }
  }

  async collect(options: BlobGcOptions): Promise<BlobGcResult> {
    this.#begin(options);
    const started = await this.#engine.now();
    const live = new Set<string>();
    for await (const sha256 of options.references()) {
      checkDigest(sha256);
      live.add(sha256);
    }
    let removed = 0;
    let held = 0;
    let after = "";
    for (;;) {
      this.#begin(options);
      const page = await this.#engine.expired(started, after, EXPIRED_PAGE);
      for (const sha256 of page) {
        if (live.has(sha256)) continue;
        if (options.dryRun === true || (await this.#engine.remove(sha256, started))) removed += 1;
        else held += 1;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < EXPIRED_PAGE) break;
      after = last;
    }
    if (options.dryRun === true) return { removed, held, abandoned: 0 };
    const abandoned = await this.#engine.removeUploads(started - this.#uploadIdleMs);
    return { removed, held, abandoned };
  }

  async close(): Promise<void> {
    this.#closing ??= this.#engine.close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #charge(owner: string | undefined): BlobCharge | undefined {
    if (owner === undefined) return undefined;
    checkOwner(owner);
    const quotaBytes = this.#ownerQuotaBytes;
    return { owner, ...(quotaBytes === undefined ? {} : { quotaBytes }) };
  }

  async #readChunk(blob: BlobHead, position: number): Promise<Uint8Array> {
    const chunk = await this.#engine.chunk(blob, position);
    if (chunk === undefined) {
      // Collected while it was read, or damaged.
      throw (await this.#engine.head(blob.sha256)) === undefined
        ? blobNotFound(blob.sha256)
        : blobCorrupt(blob.sha256);
    }
    const expected = Math.min(blob.chunkBytes, blob.size - position * blob.chunkBytes);
    const intact = chunk.bytes.length === expected && sha256Of(chunk.bytes).equals(chunk.sha256);
    if (!intact) throw blobCorrupt(blob.sha256);
    return chunk.bytes;
  }

  #begin(options: CallOptions): void {
    options.signal?.throwIfAborted();
    if (this.#closing === undefined) return;
    throw new StorageError("STORAGE_INCONSISTENT", "the blob store is closed");
  }
}

/** What an engine fails with, as a storage error; errors of the content pass as they are. */
async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw StorageError.from(error);
  }
}

function sha256Of(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
