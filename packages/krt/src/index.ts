export { allSynced, createRuntime } from "./runtime.ts";
export { items, latest } from "./event.ts";
export { kind, namespacedKey, SINGLETON_KEY } from "./kind.ts";
export { byFields, deepEqual } from "./equality.ts";
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
export { partial } from "./context.ts";
export { fetchOrList } from "./fetch-or-list.ts";
export { onlyWhenChanged } from "./only-when-changed.ts";
export { fromWatch } from "./source/watch.ts";
export { fromAsyncIterable, fromObservable } from "./source/stream.ts";
export { createScheduler } from "./scheduler.ts";
export { KrtError } from "./errors.ts";

export type { Runtime, RuntimeOptions, TransformationFailure } from "./runtime.ts";
export type { AuditFinding, AuditOptions } from "./strict/audit.ts";
export type {
  CollectionInfo,
  DependencyInfo,
  EdgeInfo,
  Explanation,
  InputRef,
  Inspector,
  SubscriptionInfo,
} from "./inspect/inspector.ts";
export type { CollectionDump, CollectionState, InputDump } from "./inspect/dump.ts";
export type { EdgeType } from "./core/edge.ts";
export type { NodeCounters, NodeType } from "./core/node.ts";
export type { RunCause } from "./core/derived-node.ts";
export type {
  DeriveOptions,
  JoinOptions,
  KindOptions,
  Scope,
  ScopeOptions,
  SourceOptions,
  StatusPair,
  ViewOptions,
  WithStatus,
} from "./scope.ts";
export type {
  BatchHandler,
  Cell,
  Collection,
  CollectionOptions,
  Handler,
  LoadOptions,
  Metadata,
  Overflow,
  Registration,
  Singleton,
  Source,
  SubscribeOptions,
  WaitOptions,
  WriteOptions,
} from "./collection.ts";
export type {
  ManyFromTransformation,
  ManyTransformation,
  Output,
  PartialProjection,
  SingletonTransformation,
  Transformation,
  TransformationContext,
} from "./context.ts";
export type { AddEvent, DeleteEvent, Event, UpdateEvent } from "./event.ts";
export type { External, Trigger } from "./external.ts";
export type { Filter } from "./filter.ts";
export type { Kind, KindSpec, Trait, TraitSet } from "./kind.ts";
export type { Equals } from "./equality.ts";
export type { Labels } from "./labels.ts";
export type { Merge } from "./core/join-rule.ts";
export type { FailurePolicy } from "./core/derived-node.ts";
export type { StatusOf } from "./core/status-node.ts";
export type { Group, Index, IndexKeys, IndexOptions } from "./secondary-index.ts";
export type { Diagnostic, Instrumentation, InstrumentedNode } from "./instrumentation.ts";
export type {
  Listing,
  WatchedCollection,
  WatchEvent,
  WatchOptions,
  WatchRequest,
  WatchSource,
} from "./source/watch.ts";
export type { ObservableLike, StreamItems, StreamOptions } from "./source/stream.ts";
export type { FeedEvent } from "./source/feed.ts";
export type { BackoffOptions } from "./source/backoff.ts";
export type { Scheduler } from "./scheduler.ts";
export type { KrtErrorCode, KrtErrorDetails } from "./errors.ts";
