import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BlobStore } from "../blob/types.ts";
import { StorageError } from "../errors.ts";
import { makeDirectory } from "../make-directory.ts";
import { syncFolder } from "./backup-folder.ts";

/** The contents of the blobs of a backup, each in a file that is named by its digest. */
export class BlobFiles {
  readonly #directory: string;

  /** @param directory the folder of the backup */
  constructor(directory: string) {
    this.#directory = join(directory, "blobs");
  }

  async has(sha256: string): Promise<boolean> {
    return (await stat(this.#path(sha256)).catch(() => undefined)) !== undefined;
  }

  /** Copies a blob, durably. Rejects as reading it does; nothing is left then. */
  async copy(blobs: BlobStore, sha256: string, signal: AbortSignal | undefined): Promise<void> {
    const path = this.#path(sha256);
    const partial = `${path}.partial`;
    makeDirectory(dirname(path));
    try {
      await using file = await open(partial, "w", 0o600);
      for await (const bytes of blobs.read(sha256, { ...(signal && { signal }) })) {
        await file.writeFile(bytes);
      }
      await file.sync();
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    await rename(partial, path);
    await syncFolder(dirname(path));
  }

  /** Makes the folders durable that were made for the copies. */
  async sync(): Promise<void> {
    makeDirectory(this.#directory);
    await syncFolder(this.#directory);
  }

  /** The content of a blob, as it is in the file. */
  read(sha256: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.#path(sha256));
  }

  /** `STORAGE_CORRUPT` when the file is missing or is not what its name says. */
  async check(sha256: string, size: number): Promise<void> {
    const hash = createHash("sha256");
    let read = 0;
    try {
      for await (const bytes of this.read(sha256)) {
        hash.update(bytes);
        read += bytes.length;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new StorageError("STORAGE_CORRUPT", `blob ${sha256}: its file is missing`);
    }
    if (read !== size || hash.digest("hex") !== sha256) {
      throw new StorageError("STORAGE_CORRUPT", `blob ${sha256}: its file is damaged`);
    }
  }

  #path(sha256: string): string {
    return join(this.#directory, sha256.slice(0, 2), sha256);
  }
}
