import type { OpenStore } from "@stackwright/core";
import { observeStorage, type StorageObserver } from "@stackwright/storage";

/** The store of a server, whose calls are counted; disposing it disposes the given one. */
export function observeStore(store: OpenStore, observer: StorageObserver): OpenStore {
  const { storage, blobs, shared, renewal, serverMs } = store;
  return {
    storage: observeStorage(storage, observer),
    blobs,
    shared,
    renewal,
    serverMs,
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
}
