import type { Resource, ResourceId } from "../resource.ts";
import type { WatchEvent } from "../types.ts";

/** One committed change, as engines put it into the {@link EventFeed}. */
export interface Commit {
  /** Position in the order of all commits of the store: strictly rising, a safe integer. */
  readonly revision: number;
  readonly operation: "upsert" | "delete";
  /** Frozen. Of a delete: the last stored resource with its last version. */
  readonly resource: Resource;
  /** Position for `resumeAfter`; absent on engines without resume. */
  readonly cursor?: string;
}

/** A committed change of which the content is not what was written. */
export interface DamagedCommit {
  readonly revision: number;
  /** What was changed, where that is stored beside the content. */
  readonly id?: ResourceId;
  readonly reason: string;
}

/** The event that watchers get for a commit; the resource still shares its bytes with the store. */
export function commitToEvent(commit: Commit): WatchEvent {
  return {
    operation: commit.operation,
    resource: commit.resource,
    ...(commit.cursor === undefined ? {} : { cursor: commit.cursor }),
  };
}

/** What a commit takes in memory beside its payload, roughly. */
export const COMMIT_OVERHEAD_BYTES = 512;

/** Roughly what a commit keeps alive, in bytes: its payload and a flat amount for the rest. */
export function commitBytes(commit: Commit): number {
  return COMMIT_OVERHEAD_BYTES + (commit.resource.data?.value.byteLength ?? 0);
}
