import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@stackwright/base/logger";
import type { BlobStore } from "@stackwright/storage/blob";

/**
 * Copies the blobs of a folder into a store, and renames the folder then: what a release has left that kept the blobs
 * of an etcd store on each machine. May be repeated after an interruption. Rejects with a `StorageError`:
 * `STORAGE_LOCKED` while a process of such a release uses the folder, `STORAGE_QUOTA_EXCEEDED` without space.
 */
export async function moveFolderBlobs(
  directory: string,
  into: BlobStore,
  logger?: Logger,
): Promise<void> {
  const groups = await readdir(join(directory, "blobs")).catch(() => undefined);
  if (groups === undefined) return;
  const { createDirectoryBlobs } = await import("@stackwright/storage/blob");
  let moved = 0;
  {
    await using folder = await createDirectoryBlobs({ directory });
    for (const group of groups) {
      const digests = await readdir(join(directory, "blobs", group));
      const present = new Set((await into.find(digests)).map(({ sha256 }) => sha256));
      for (const sha256 of digests) {
        if (present.has(sha256)) continue;
        await into.write(folder.read(sha256), { expected: { sha256 } });
        moved += 1;
      }
    }
  }
  const kept = `${directory}-moved-${Date.now()}`;
  await rename(directory, kept);
  logger?.info(
    { moved, folder: kept, engine: into.capabilities.engine },
    "the blobs of this folder were moved to the store; the folder may be removed",
  );
}
