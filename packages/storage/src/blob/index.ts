export type { BlobCharge, BlobChunk, BlobEngine, BlobHead, BlobUpload } from "./blob-engine.ts";
export type { BlobStoreOptions } from "./blob-store.ts";
export { ChunkedBlobStore } from "./blob-store.ts";
export type { BlobReferenceKind, CollectUnreferencedOptions } from "./collect-unreferenced.ts";
export { collectUnreferenced } from "./collect-unreferenced.ts";
export type { DirectoryBlobsOptions } from "./directory-blobs.ts";
export { createDirectoryBlobs } from "./directory-blobs.ts";
export { ownedBlobs } from "./owned-blobs.ts";
export type { SqliteBlobsOptions } from "./sqlite-blobs.ts";
export { createSqliteBlobs } from "./sqlite-blobs.ts";
export type {
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
