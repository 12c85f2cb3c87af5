// What engines are made of: for this package's own and for those that others write.

export {
  decodeResource,
  encodeResource,
  idToMessage,
  messageToId,
  messageToResource,
  resourceToMessage,
} from "../codec.ts";
export type { Commit } from "../feed/commit.ts";
export { commitToEvent } from "../feed/commit.ts";
export { CommitLog } from "../feed/commit-log.ts";
export { formatCursor, parseCursor } from "../feed/cursor.ts";
export { EventFeed } from "../feed/event-feed.ts";
export type { SnapshotReader } from "../feed/prologue.ts";
export { backlogPrologue, markerEvent, pagedPrologue } from "../feed/prologue.ts";
export type { ResolvedWatchBuffer, WatchPrologue } from "../feed/watch-stream.ts";
export { resolveWatchBuffer, WatchStream } from "../feed/watch-stream.ts";
export { freezeId, freezeResource, toReadonlyResource, withVersion } from "../freeze.ts";
export type { ResourceFilter } from "../key.ts";
export {
  filterKeyPrefix,
  filterMatches,
  lifetimeKey,
  resourceKey,
  scopeKey,
  tenancyMatches,
} from "../key.ts";
export type { StoredHead, WriteRefusal } from "../preconditions.ts";
export {
  checkDeletePreconditions,
  checkReadResult,
  checkWritePreconditions,
  guardFailed,
  guardHolds,
  notFound,
  refused,
} from "../preconditions.ts";
export type { ScannedKey, ScanStep } from "../scan.ts";
export { scanIsExact, scanStart, scanStep, splitKey } from "../scan.ts";
export {
  checkBatch,
  checkConsistency,
  checkFilter,
  checkGuards,
  checkId,
  checkResource,
  checkVersion,
  unsupported,
} from "../validate.ts";
export { abortable } from "./abortable.ts";
