export type { WatchCacheOptions } from "./cache-options.ts";
export type { CachedCall, CachedStorage, WatchCacheStatistics } from "./watch-cache.ts";
export { createWatchCache } from "./watch-cache.ts";
