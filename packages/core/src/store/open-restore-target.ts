import { type RestoreTarget, restoreTargetOf } from "@stackwright/storage/backup";
import type { BlobStore } from "@stackwright/storage/blob";
import { openEtcdBlobs } from "./open-etcd-blobs.ts";
import { openStore } from "./open-store.ts";
import type { StoreAddress } from "./store-address.ts";

/** An empty store and the place of its blobs, for a backup to be restored. Disposing closes both. */
export interface OpenRestoreTarget extends AsyncDisposable {
  readonly target: RestoreTarget;
  readonly blobs: BlobStore;
}

/** Opens a store as the target of a restore. Rejects as `openStore` does. */
export async function openRestoreTarget(
  address: StoreAddress,
  options: { readonly blobDirectory: string },
): Promise<OpenRestoreTarget> {
  if (address.kind !== "etcd") {
    const store = await openStore(address, options);
    const { storage, blobs } = store;
    return {
      target: restoreTargetOf(storage),
      blobs,
      [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
    };
  }
  // A store with an interrupted restore does not open.
  const { createEtcdRestoreTarget } = await import("@stackwright/storage/etcd");
  await using resources = new AsyncDisposableStack();
  const { endpoints, root } = address;
  const target = resources.use(
    await createEtcdRestoreTarget({ endpoints, ...(root !== undefined && { root }) }),
  );
  const blobs = resources.use(await openEtcdBlobs(address, { directory: options.blobDirectory }));
  const owned = resources.move();
  return { target, blobs, [Symbol.asyncDispose]: async () => owned.disposeAsync() };
}
