export type {
  CachedCall,
  CachedStorage,
  WatchCacheOptions,
  WatchCacheStatistics,
} from "./cache/index.ts";
export { createWatchCache } from "./cache/index.ts";
export type { Durability, StorageCapabilities, StorageLimits } from "./capabilities.ts";
export { DEFAULT_LIMITS, MAX_BATCH_OPERATIONS, MAX_GUARDS } from "./capabilities.ts";
export type { DamagedResource } from "./damaged-resource.ts";
export type {
  StorageErrorCode,
  StorageErrorDetails,
  StorageErrorOptions,
} from "./errors.ts";
export {
  GroupVersionMismatchError,
  isStorageError,
  STORAGE_ERRORS,
  StorageError,
} from "./errors.ts";
export type { CommitHistory, CommitPage, HistoryCommit } from "./feed/commit-history.ts";
export type { HistoryOptions, HistorySize, ResolvedHistory } from "./feed/history-options.ts";
export type { WatchBufferOptions } from "./feed/watch-stream.ts";
export { listBehind, listPages, listResourceHeads, listResources } from "./list/list-pages.ts";
export type { ListPage, ListPageOptions, ResourceHead } from "./list/types.ts";
export { makeDirectory } from "./make-directory.ts";
export { observeStorage } from "./observed/observe-storage.ts";
export type {
  ObservedCall,
  ObservedOperation,
  StorageObserver,
} from "./observed/storage-observer.ts";
export type { PastSnapshots } from "./past-snapshots.ts";
export { readStored } from "./read-stored.ts";
export type {
  ConditionState,
  Resource,
  ResourceData,
  ResourceId,
  ResourceReference,
  ResourceType,
  Status,
  StatusCondition,
  Tenancy,
  Timestamp,
  UnversionedType,
} from "./resource.ts";
export { toUnversionedType, WILDCARD } from "./resource.ts";
export type { TenancyScope } from "./scope.ts";
export { checkAccount, checkProject, checkRegion, tenancyOf } from "./scope.ts";
export type { StoreLayout } from "./store-layout.ts";
export type {
  BatchOperation,
  CallOptions,
  Guard,
  ReadConsistency,
  ReadManyOptions,
  Restore,
  Snapshot,
  StorageBackend,
  Watch,
  WatchEvent,
  WatchOptions,
  WatchSource,
  WriteOptions,
} from "./types.ts";
export type { UlidSource } from "./ulid.ts";
export { createUlidGenerator, isUlid, ulidTime } from "./ulid.ts";
