import { StorageError } from "../../errors.ts";
import { type Commit, commitToEvent, type DamagedCommit } from "../../feed/commit.ts";
import { formatCursor, parseCursor } from "../../feed/cursor.ts";
import { markerEvent } from "../../feed/prologue.ts";
import type { WatchPrologue } from "../../feed/watch-stream.ts";
import { filterMatches, type ResourceFilter } from "../../key.ts";
import type { WatchEvent, WatchOptions } from "../../types.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { historyStream } from "./history-stream.ts";
import type { Layout } from "./layout.ts";
import { endOfRevision } from "./position.ts";
import { scanResources } from "./scan.ts";

/** How often a replay asks the server whether that was all. */
const PROGRESS_MS = 20;

/** What the prologues of an instance have in common. */
export interface EtcdWatchContext {
  readonly client: EtcdClient;
  readonly layout: Layout;
  readonly epoch: string;
}

/** The snapshot of a new watch; its pages are fetched as they are consumed. */
export async function openSnapshotWatch(
  source: EtcdWatchContext,
  filter: ResourceFilter,
  { endOfSnapshot: marker = false, onDamaged }: WatchOptions,
): Promise<WatchPrologue> {
  const pages = scanResources(source.client, source.layout, filter, onDamaged);
  let next = await pages.next();
  if (next.done === true) throw new StorageError("STORAGE_INCONSISTENT", "a scan without a page");
  const revision = endOfRevision(next.value.revision);
  let first = true;
  let marked = !marker;
  return {
    revision,
    nextPage: async (): Promise<readonly WatchEvent[] | undefined> => {
      if (!first && next.done !== true) next = await pages.next();
      first = false;
      if (next.done !== true) {
        return next.value.resources.map((resource) => ({ operation: "upsert", resource }));
      }
      if (marked) return undefined;
      marked = true;
      return [markerEvent(formatCursor(source.epoch, revision))];
    },
    close: () => void pages.return(undefined),
  };
}

/** The history of a resumed watch; `STORAGE_WATCH_CLOSED` when the cluster has forgotten it. */
export async function openResumed(
  source: EtcdWatchContext,
  filter: ResourceFilter,
  cursor: string,
  head: () => Promise<number>,
): Promise<WatchPrologue> {
  const revision = await head();
  const after = parseCursor(cursor, source.epoch);
  if (after === undefined || after > revision) {
    throw new StorageError("STORAGE_WATCH_CLOSED", "the cursor is of another store");
  }
  const stopping = new AbortController();
  const pages = historyStream({
    ...source,
    after,
    progressMs: PROGRESS_MS,
    signal: stopping.signal,
  });
  let position = after;
  const fetch = async (): Promise<readonly WatchEvent[]> => {
    const next = await pages.next();
    if (next.done === true) throw new StorageError("STORAGE_WATCH_CLOSED", "the replay ended");
    position = next.value.position;
    return next.value.commits.flatMap((commit) => {
      if (commit.revision > revision || !concerns(filter, commit)) return [];
      if ("resource" in commit) return [commitToEvent(commit)];
      throw new StorageError("STORAGE_WATCH_CLOSED", `the history is damaged: ${commit.reason}`);
    });
  };
  const close = (): void => {
    stopping.abort();
    void pages.return(undefined).catch(() => undefined);
  };
  let first: readonly WatchEvent[] | undefined;
  try {
    first = await fetch();
  } catch (error) {
    close();
    throw error;
  }
  return {
    revision,
    nextPage: async () => {
      if (first === undefined) return position < revision ? fetch() : undefined;
      const page = first;
      first = undefined;
      return page;
    },
    close,
  };
}

function concerns(filter: ResourceFilter, commit: Commit | DamagedCommit): boolean {
  const id = "resource" in commit ? commit.resource.id : commit.id;
  return id === undefined || filterMatches(filter, { id });
}
