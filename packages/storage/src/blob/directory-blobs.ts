import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KeyedMutex } from "@stackwright/base/keyed-mutex";
import { acquireWriterLock } from "../engine/sqlite/writer-lock.ts";
import { StorageError } from "../errors.ts";
import { makeDirectory } from "../make-directory.ts";
import type { BlobCharge, BlobChunk, BlobEngine, BlobHead, BlobUpload } from "./blob-engine.ts";
import { type BlobStoreOptions, ChunkedBlobStore } from "./blob-store.ts";
import { DirectoryOwners } from "./directory-owners.ts";
import type { BlobCapabilities, BlobStore } from "./types.ts";

// Layout of the directory:
//
//   blobs/<first two digits>/<sha256>/   data, and sums: a header line and the chunks' digests;
//                                         owner-<hex> for each account that it counts against
//   uploads/<uuid>/                       the same, while it is written
//
// A blob becomes one by the rename of its upload, after its files and before its parent are synced,
// and stops being one by a rename back. The modification time of `sums` is the end of its hold. What
// compares or sets that time takes turns in this process, and no other process may use the directory.

/** One key: what compares or sets the end of a hold excludes all else that does. */
const ALL_BLOBS = "blobs";
const DIGEST_BYTES = 32;
const HEADER_BYTES = 64;

/** Options of {@link createDirectoryBlobs}. */
export interface DirectoryBlobsOptions extends BlobStoreOptions {
  /** Made with mode 0700 when it does not exist. It belongs to the store. */
  readonly directory: string;
  /**
   * Opens an existing store for reading, also while another process writes to it; calls that write reject
   * with `STORAGE_READ_ONLY`, and nothing is held.
   *
   * @default false
   */
  readonly readOnly?: boolean;
}

/**
 * A blob store in a directory, for one writing process at a time (`STORAGE_LOCKED` otherwise). What was
 * written survives the loss of power.
 */
export async function createDirectoryBlobs(options: DirectoryBlobsOptions): Promise<BlobStore> {
  const { directory } = options;
  if (options.readOnly === true) {
    return new ChunkedBlobStore(new ReadOnlyEngine(directory), options);
  }
  for (const name of ["blobs", "uploads"]) {
    makeDirectory(join(directory, name));
  }
  const lock = acquireWriterLock(directory);
  return new ChunkedBlobStore(new DirectoryEngine(directory, lock), options);
}

class DirectoryEngine implements BlobEngine {
  readonly capabilities: BlobCapabilities = {
    engine: "directory",
    durability: "os",
    shared: false,
  };
  readonly #directory: string;
  readonly #lock: Disposable | undefined;
  readonly #mutex = new KeyedMutex();
  readonly #owners: DirectoryOwners;

  constructor(directory: string, lock: Disposable | undefined) {
    this.#directory = directory;
    this.#lock = lock;
    this.#owners = new DirectoryOwners(join(directory, "blobs"));
  }

  async now(): Promise<number> {
    return Date.now();
  }

  async begin(): Promise<BlobUpload> {
    const path = join(this.#directory, "uploads", randomUUID());
    await mkdir(path, { mode: 0o700 });
    const data = await open(join(path, "data"), "wx", 0o600);
    const sums = await open(join(path, "sums"), "wx", 0o600);
    await sums.write(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    let offset = 0;
    const close = async (): Promise<void> => {
      await data.close().catch(() => undefined);
      await sums.close().catch(() => undefined);
    };
    return {
      append: async (position, chunk) => {
        await writeAll(data, chunk.bytes, offset);
        await writeAll(sums, chunk.sha256, HEADER_BYTES + position * DIGEST_BYTES);
        offset += chunk.bytes.length;
      },
      finish: async (blob, holdMs, charge) => {
        const header = `${blob.size} ${blob.chunkBytes}`.padEnd(HEADER_BYTES - 1);
        await writeAll(sums, Buffer.from(`${header}\n`), 0);
        await data.sync();
        await sums.sync();
        await close();
        await this.#mutex.run(ALL_BLOBS, () => this.#publish(path, blob, holdMs, charge));
      },
      abort: async () => {
        await close();
        await rm(path, { recursive: true, force: true });
      },
    };
  }

  async head(sha256: string): Promise<BlobHead | undefined> {
    const path = this.#path(sha256);
    const header = await readPart(join(path, "sums"), 0, HEADER_BYTES);
    if (header === undefined) return undefined;
    const [size = Number.NaN, chunkBytes = 0] = header.toString("latin1").split(" ").map(Number);
    if (!Number.isSafeInteger(size) || !(chunkBytes > 0)) {
      throw new StorageError("STORAGE_CORRUPT", `the header of blob ${sha256} is damaged`);
    }
    return { sha256, size, chunkBytes, content: path };
  }

  async hold(sha256: readonly string[], holdMs: number): Promise<readonly BlobHead[]> {
    const found: BlobHead[] = [];
    for (const digest of sha256) {
      const blob = await this.#mutex.run(ALL_BLOBS, async () => {
        const head = await this.head(digest);
        if (head !== undefined) await this.#extend(digest, holdMs);
        return head;
      });
      if (blob !== undefined) found.push(blob);
    }
    return found;
  }

  async chunk(blob: BlobHead, position: number): Promise<BlobChunk | undefined> {
    const start = position * blob.chunkBytes;
    const length = Math.min(blob.chunkBytes, blob.size - start);
    const bytes = await readPart(join(blob.content, "data"), start, length);
    const offset = HEADER_BYTES + position * DIGEST_BYTES;
    const sha256 = await readPart(join(blob.content, "sums"), offset, DIGEST_BYTES);
    return bytes === undefined || sha256 === undefined ? undefined : { bytes, sha256 };
  }

  async owners(sha256: string): Promise<readonly string[]> {
    return this.#owners.ownersOf(this.#path(sha256));
  }

  async expired(before: number, after: string, limit: number): Promise<readonly string[]> {
    const found: string[] = [];
    const root = join(this.#directory, "blobs");
    for (const group of (await namesIn(root)).toSorted()) {
      if (group < after.slice(0, 2)) continue;
      for (const sha256 of (await namesIn(join(root, group))).toSorted()) {
        if (sha256 <= after) continue;
        if ((await this.#heldUntil(sha256)) >= before) continue;
        found.push(sha256);
        if (found.length === limit) return found;
      }
    }
    return found;
  }

  async remove(sha256: string, before: number): Promise<boolean> {
    const doomed = join(this.#directory, "uploads", randomUUID());
    const isRemoved = await this.#mutex.run(ALL_BLOBS, async () => {
      if ((await this.#heldUntil(sha256)) >= before) return false;
      const path = this.#path(sha256);
      const owners = await this.#owners.ownersOf(path);
      const size = owners.length === 0 ? 0 : (await stat(join(path, "data"))).size;
      await rename(path, doomed);
      this.#owners.add(owners, -size);
      return true;
    });
    if (isRemoved) await rm(doomed, { recursive: true, force: true });
    return isRemoved;
  }

  async removeUploads(before: number): Promise<number> {
    let removed = 0;
    const root = join(this.#directory, "uploads");
    for (const name of await readdir(root)) {
      const path = join(root, name);
      const sums = await stat(join(path, "sums")).catch(() => undefined);
      // An entry that disappears meanwhile was finished, or is removed by another process.
      const found = sums ?? (await stat(path).catch(() => undefined));
      if (found === undefined || found.mtimeMs >= before) continue;
      await rm(path, { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  async close(): Promise<void> {
    await this.#mutex.run(ALL_BLOBS, async () => undefined);
    this.#lock?.[Symbol.dispose]();
  }

  async #publish(
    upload: string,
    { sha256, size }: Omit<BlobHead, "content">,
    holdMs: number,
    charge: BlobCharge | undefined,
  ): Promise<void> {
    const path = this.#path(sha256);
    const exists = (await this.head(sha256)) !== undefined;
    const counts =
      charge !== undefined && (await this.#owners.claim(exists ? path : upload, charge, size));
    const claimed = counts ? [charge.owner] : [];
    if (exists) {
      if (claimed.length > 0) await syncDirectory(path);
      this.#owners.add(claimed, size);
      await this.#extend(sha256, holdMs);
      await rm(upload, { recursive: true, force: true });
      return;
    }
    const end = (Date.now() + holdMs) / 1000;
    await utimes(join(upload, "sums"), end, end);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(upload, path);
    this.#owners.add(claimed, size);
    await syncDirectory(path);
    await syncDirectory(dirname(path));
    await syncDirectory(join(this.#directory, "blobs"));
  }

  async #extend(sha256: string, holdMs: number): Promise<void> {
    const end = Math.max(await this.#heldUntil(sha256), Date.now() + holdMs) / 1000;
    await utimes(join(this.#path(sha256), "sums"), end, end);
  }

  /** The end of a hold; of a blob that is gone, never. */
  async #heldUntil(sha256: string): Promise<number> {
    const found = await stat(join(this.#path(sha256), "sums")).catch(() => undefined);
    return found?.mtimeMs ?? Number.POSITIVE_INFINITY;
  }

  #path(sha256: string): string {
    return join(this.#directory, "blobs", sha256.slice(0, 2), sha256);
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    const { bytesWritten } = await file.write(bytes, written, rest, offset + written);
    written += bytesWritten;
  }
}

/** Up to so many bytes of a file, `undefined` when there is none. */
async function readPart(path: string, offset: number, length: number): Promise<Buffer | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await file.read(bytes, read, length - read, offset + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await file.close();
  }
}

/** What is in a folder; nothing where it was not made yet. */
async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * A blob exists as a whole or not at all, so a reader needs no lock. A read of one
 * that is collected meanwhile fails as for a missing blob.
 */
class ReadOnlyEngine extends DirectoryEngine {
  constructor(directory: string) {
    super(directory, undefined);
  }

  override async begin(): Promise<BlobUpload> {
    throw new StorageError("STORAGE_READ_ONLY");
  }

  override async hold(): Promise<readonly BlobHead[]> {
    throw new StorageError("STORAGE_READ_ONLY");
  }

  override async remove(): Promise<boolean> {
    throw new StorageError("STORAGE_READ_ONLY");
  }

  override async removeUploads(): Promise<number> {
    throw new StorageError("STORAGE_READ_ONLY");
  }
}
