import { createHash } from "node:crypto";
import { StorageError } from "@stackwright/storage";
import type {
  BlobCapabilities,
  BlobContent,
  BlobEntry,
  BlobGcResult,
  BlobReadOptions,
  BlobReference,
  BlobStore,
} from "@stackwright/storage/blob";

/** Blobs in memory, for tests and simulations. Nothing is ever collected. */
export class MemoryBlobs implements BlobStore {
  readonly capabilities: BlobCapabilities = { engine: "memory", durability: "none", shared: true };
  readonly #blobs = new Map<string, Uint8Array>();

  /** All that is stored, for tests that look for what must not be there. */
  contents(): Iterable<Uint8Array> {
    return this.#blobs.values();
  }

  async write(content: BlobContent): Promise<BlobReference> {
    const chunks: Uint8Array[] = [];
    if (content instanceof Uint8Array) chunks.push(content);
    else for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
    const bytes = Uint8Array.from(Buffer.concat(chunks));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#blobs.set(sha256, bytes);
    return { sha256, size: bytes.length };
  }

  async *read(sha256: string, options: BlobReadOptions = {}): AsyncGenerator<Uint8Array> {
    const bytes = this.#blobs.get(sha256);
    if (bytes === undefined) throw new StorageError("STORAGE_NOT_FOUND");
    const { offset = 0, length = bytes.length } = options;
    yield bytes.slice(offset, offset + length);
  }

  async find(sha256: readonly string[]): Promise<readonly BlobReference[]> {
    return sha256.flatMap((digest) => {
      const bytes = this.#blobs.get(digest);
      return bytes === undefined ? [] : { sha256: digest, size: bytes.length };
    });
  }

  async *list(): AsyncGenerator<BlobEntry> {
    for (const sha256 of [...this.#blobs.keys()].toSorted()) {
      yield { sha256, size: this.#blobs.get(sha256)?.length ?? 0, owners: [] };
    }
  }

  async collect(): Promise<BlobGcResult> {
    return { removed: 0, held: 0, abandoned: 0 };
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
