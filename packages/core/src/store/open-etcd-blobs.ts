import type { BlobStore, DirectoryBlobsOptions } from "@stackwright/storage/blob";
import type { StoreAddress } from "./store-address.ts";

/** Opens the blobs of an etcd store: in the cluster, in a database, or in `directory`, as its address says. */
export async function openEtcdBlobs(
  { endpoints, root, blobs: place }: Extract<StoreAddress, { readonly kind: "etcd" }>,
  options: DirectoryBlobsOptions,
): Promise<BlobStore> {
  if (place === "folder") {
    const { createDirectoryBlobs } = await import("@stackwright/storage/blob");
    return createDirectoryBlobs(options);
  }
  const { directory: _directory, ...limits } = options;
  if (place !== undefined) {
    const { createPostgresBlobs } = await import("@stackwright/storage/blob/postgres");
    return createPostgresBlobs({ url: place.postgres, ...limits });
  }
  const { createEtcdBlobs } = await import("@stackwright/storage/blob/etcd");
  return createEtcdBlobs({ endpoints, ...(root !== undefined && { root }), ...limits });
}
