import type { BlobContent, BlobStore, BlobWriteOptions } from "./types.ts";

/** A view of a blob store whose writes count against an account. Closing it closes the store. */
export function ownedBlobs(blobs: BlobStore, owner: string): BlobStore {
  const close = (): Promise<void> => blobs.close();
  return {
    get capabilities() {
      return blobs.capabilities;
    },
    write: (content: BlobContent, options: BlobWriteOptions = {}) =>
      blobs.write(content, { owner, ...options }),
    read: (sha256, options) => blobs.read(sha256, options),
    find: (sha256, options) => blobs.find(sha256, options),
    list: (options) => blobs.list(options),
    collect: (options) => blobs.collect(options),
    close,
    [Symbol.asyncDispose]: close,
  };
}
