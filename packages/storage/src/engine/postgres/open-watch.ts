import { StorageError } from "../../errors.ts";
import { commitToEvent } from "../../feed/commit.ts";
import { formatCursor, parseCursor } from "../../feed/cursor.ts";
import { markerEvent } from "../../feed/prologue.ts";
import type { WatchPrologue } from "../../feed/watch-stream.ts";
import { filterMatches, type ResourceFilter } from "../../key.ts";
import type { WatchEvent, WatchOptions } from "../../types.ts";
import { readChanges, readHead } from "./changes.ts";
import type { DurableReads } from "./durable-reads.ts";
import { fromRows, type KeyedRow } from "./rows.ts";
import type { RowStreams } from "./streamed-rows.ts";

/** Rows decoded, or events fetched, at a time. */
const PAGE = 256;

/** A prologue, and the epoch of the content that it is of. */
export interface OpenedPrologue extends WatchPrologue {
  readonly epoch: string;
}

/** The snapshot of a new watch; its rows are fetched and decoded as they are consumed. */
export async function openSnapshotWatch(
  streams: RowStreams,
  filter: ResourceFilter,
  { endOfSnapshot: marker = false, signal, onDamaged }: WatchOptions,
): Promise<OpenedPrologue> {
  const stream = await streams.open({ kind: "filter", filter }, signal);
  const { epoch, revision } = stream;
  let rows: readonly KeyedRow[] = [];
  let isOver = false;
  return {
    epoch,
    revision,
    nextPage: async () => {
      if (isOver) return undefined;
      if (rows.length === 0) {
        const fetched = await stream.next();
        if (fetched === undefined) {
          isOver = true;
          return marker ? [markerEvent(formatCursor(epoch, revision))] : undefined;
        }
        rows = fetched;
      }
      const page = fromRows(rows.slice(0, PAGE), onDamaged);
      rows = rows.slice(PAGE);
      return page.map((resource): WatchEvent => ({ operation: "upsert", resource }));
    },
    close: () => {
      rows = [];
      stream.close();
    },
  };
}

/** The history of a resumed watch; `STORAGE_WATCH_CLOSED` when it is not retained. */
export async function openResumed(
  reads: DurableReads,
  filter: ResourceFilter,
  cursor: string,
): Promise<OpenedPrologue> {
  const { epoch, revision } = await reads.run(readHead);
  const after = parseCursor(cursor, epoch);
  if (after === undefined || after > revision) throw lostHistory();
  let position = after;
  const fetch = async (): Promise<readonly WatchEvent[]> => {
    const changes = await reads.run((sql) => readChanges(sql, position, PAGE));
    if (changes.epoch !== epoch || changes.commits === undefined) throw lostHistory();
    // Of what was committed since the watch was opened its buffer has the rest.
    const commits = changes.commits.filter((commit) => commit.revision <= revision);
    position = commits.at(-1)?.revision ?? revision;
    return commits.flatMap((commit) => {
      if (!("resource" in commit)) throw lostHistory();
      return filterMatches(filter, commit.resource) ? [commitToEvent(commit)] : [];
    });
  };
  let first: readonly WatchEvent[] | undefined = await fetch();
  return {
    epoch,
    revision,
    nextPage: async () => {
      if (first !== undefined) {
        const page = first;
        first = undefined;
        return page;
      }
      return position < revision ? fetch() : undefined;
    },
    close: () => {
      first = undefined;
    },
  };
}

function lostHistory(): StorageError {
  return new StorageError("STORAGE_WATCH_CLOSED", "the history after the cursor is not retained");
}
