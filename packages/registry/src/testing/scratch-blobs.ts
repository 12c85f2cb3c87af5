import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobStore, createDirectoryBlobs } from "@stackwright/storage/blob";

/** A blob store in a directory that is made when it is first used, and goes away with it. */
export function createScratchBlobs(): BlobStore {
  let opened: Promise<{ blobs: BlobStore; directory: string }> | undefined;
  const open = async (): Promise<BlobStore> => {
    opened ??= (async () => {
      const directory = await mkdtemp(join(tmpdir(), "registry-blobs-"));
      return { blobs: await createDirectoryBlobs({ directory }), directory };
    })();
    return (await opened).blobs;
  };
  const close = async (): Promise<void> => {
    if (opened === undefined) return;
    const { blobs, directory } = await opened;
    await blobs.close();
    await rm(directory, { recursive: true, force: true });
  };
  return {
    capabilities: { engine: "directory", durability: "os", shared: false },
    write: async (content, options) => (await open()).write(content, options),
    async *read(sha256, options) {
      yield* (await open()).read(sha256, options);
    },
    async *list(options) {
      yield* (await open()).list(options);
    },
    find: async (sha256, options) => (await open()).find(sha256, options),
    collect: async (options) => (await open()).collect(options),
    close,
    [Symbol.asyncDispose]: close,
  };
}
