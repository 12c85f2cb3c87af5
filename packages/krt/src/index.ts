export type {
  Aggregate,
  AggregateValues,
  Aggregator,
  Aggregators,
  Comparable,
  GroupBy,
} from "./aggregate.ts";
export { count, max, min, sum } from "./aggregate.ts";
export type {
  BatchHandler,
  Cell,
  Collection,
  CollectionLoadOptions,
  CollectionMetadata,
  CollectionOptions,
  CollectionWriteOptions,
  Handler,
  HandlerRegistration,
  InputCollection,
  Overflow,
  Singleton,
  SubscribeOptions,
  WaitOptions,
} from "./collection.ts";
export type {
  ManyFromTransformation,
  ManyTransformation,
  Output,
  OutputOf,
  PartialProjection,
  RecursiveTransformation,
  SingletonTransformation,
  Transformation,
  TransformationContext,
} from "./context.ts";
export { partial } from "./context.ts";
export type { NodeCounters } from "./core/counters.ts";
export type { FailurePolicy, RecomputeCause } from "./core/derived-node.ts";
export type { EdgeType } from "./core/edge.ts";
export type { Merge } from "./core/join-rule.ts";
export type { NodeType } from "./core/node.ts";
export type { StatusOf } from "./core/status-node.ts";
export type { DeclaredFetch, DeclaredFetches, FetchedBy } from "./declared-fetch.ts";
export { inputFetch, staticFetch } from "./declared-fetch.ts";
export type { Equals } from "./equality.ts";
export { byFields, deepEqual, visibleEqual } from "./equality.ts";
export type { KrtErrorCode, KrtErrorDetails } from "./errors.ts";
export { KrtError } from "./errors.ts";
export type { AddEvent, DeleteEvent, Event, UpdateEvent } from "./event.ts";
export { items, latest } from "./event.ts";
export type { External, Trigger } from "./external.ts";
export { fetchOrList } from "./fetch-or-list.ts";
export type { Filter } from "./filter.ts";
export {
  any,
  byIndex,
  byIndexKeys,
  byKey,
  byKeys,
  byLabels,
  byName,
  selecting,
  selectingNonEmpty,
  where,
} from "./filter.ts";
export type { CollectionDump, CollectionState, InputDump } from "./inspect/dump.ts";
export type {
  CollectionInfo,
  DependencyInfo,
  EdgeInfo,
  Explanation,
  InputRef,
  Inspector,
  SubscriptionInfo,
} from "./inspect/inspector.ts";
export type {
  DeliveryInfo,
  Instrumentation,
  InstrumentedNode,
  RuntimeWarning,
} from "./instrumentation.ts";
export type { CapabilitySet, Kind, KindCapability, KindSpec } from "./kind.ts";
export { kind, namespacedKey, SINGLETON_KEY } from "./kind.ts";
export type { Labels } from "./labels.ts";
export { onlyWhenChanged } from "./only-when-changed.ts";
export type { Runtime, RuntimeOptions, TransformationFailure } from "./runtime.ts";
export { allSynced, createRuntime } from "./runtime.ts";
export type { Scheduler } from "./scheduler.ts";
export { createScheduler } from "./scheduler.ts";
export type {
  DeclaredOptions,
  DeriveOptions,
  JoinOptions,
  KindOptions,
  OrderOptions,
  Scope,
  ScopeOptions,
  SourceOptions,
  StatusPair,
  ViewOptions,
  WithStatus,
} from "./scope.ts";
export type { Group, Index, IndexKeys, IndexOptions } from "./secondary-index.ts";
export type { BackoffOptions } from "./source/backoff.ts";
export type { FeedEvent } from "./source/feed.ts";
export type { ObservableLike, StreamItems, StreamOptions } from "./source/stream.ts";
export { fromAsyncIterable, fromObservable } from "./source/stream.ts";
export type {
  Listing,
  ListWatcher,
  SourceWatchEvent,
  SourceWatchOptions,
  WatchedCollection,
  WatchRequest,
} from "./source/watch.ts";
export { fromWatch } from "./source/watch.ts";
export type { AuditFinding, AuditOptions } from "./strict/audit.ts";
