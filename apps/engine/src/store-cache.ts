import type { OpenStore } from "@stackwright/core";
import {
  createWatchCache,
  type HistoryOptions,
  type WatchCacheStatistics,
} from "@stackwright/storage";

/** One type may take a quarter of the memory. */
const TYPE_SHARE = 4;

/**
 * A store with a cache of what is watched, unless it has no memory for one; disposing it disposes the given one. The cache forgets by
 * time as the store does.
 */
export function cacheStore(
  store: OpenStore,
  mib: number,
  { maxAgeMs }: HistoryOptions = {},
): { readonly store: OpenStore; readonly statistics?: () => WatchCacheStatistics } {
  if (mib === 0) return { store };
  const totalBytes = mib * 1024 * 1024;
  const storage = createWatchCache(store.storage, {
    totalBytes,
    typeBytes: totalBytes / TYPE_SHARE,
    history: { maxAgeMs },
  });
  const { blobs, shared, renewal, serverMs } = store;
  return {
    store: {
      storage,
      blobs,
      shared,
      renewal,
      serverMs,
      [Symbol.asyncDispose]: async () => {
        await using _ = store;
        await storage.close();
      },
    },
    statistics: () => storage.cacheStatistics(),
  };
}
