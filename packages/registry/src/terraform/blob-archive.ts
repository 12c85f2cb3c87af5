import type { ArchiveSource } from "@stackwright/provider-source";
import type { BlobReference, BlobStore } from "@stackwright/storage/blob";

/**
 * A stored archive with random access. A read continues where the last one ended if it can: a blob is checked chunk by
 * chunk, so reads from the middle of a chunk would check everything twice. Not for concurrent reads, which an archive
 * source does not get. The user disposes it.
 */
export class BlobArchive implements ArchiveSource, AsyncDisposable {
  readonly name = "the archive";
  readonly sizeBytes: number;
  readonly #blobs: BlobStore;
  readonly #sha256: string;
  #stream: AsyncIterator<Uint8Array> | undefined;
  /** Where the stream is: the place of the first byte of `#rest`. */
  #position = 0;
  /** What came from the stream and was not read yet. */
  #rest: Uint8Array = EMPTY;

  constructor(blobs: BlobStore, { sha256, size }: BlobReference) {
    this.#blobs = blobs;
    this.#sha256 = sha256;
    this.sizeBytes = size;
  }

  async read(
    offset: number,
    length: number,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Uint8Array> {
    signal?.throwIfAborted();
    if (this.#stream === undefined || offset !== this.#position) await this.#seek(offset);
    const parts: Uint8Array[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#rest.byteLength === 0) {
        const step = await this.#stream?.next();
        if (step === undefined || step.done === true) throw new RangeError("beyond the archive");
        this.#rest = step.value;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.byteLength);
      missing -= part.byteLength;
      parts.push(part);
    }
    this.#position = offset + length;
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.return?.();
  }

  async #seek(offset: number): Promise<void> {
    await this[Symbol.asyncDispose]();
    const options = { offset, length: this.sizeBytes - offset, compareWhole: false };
    this.#stream = this.#blobs.read(this.#sha256, options)[Symbol.asyncIterator]();
    this.#rest = EMPTY;
    this.#position = offset;
  }
}

const EMPTY = new Uint8Array();
