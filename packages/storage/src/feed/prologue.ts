import type { Resource } from "../resource.ts";
import type { WatchEvent } from "../types.ts";
import { type Commit, commitToEvent } from "./commit.ts";
import type { WatchPrologue } from "./watch-stream.ts";

/** A snapshot as the start of a watch. */
export interface SnapshotReader {
  /** The last commit that the snapshot contains. */
  readonly revision: number;
  /** Frozen resources of one point in time; `return` is called when the watch closes early. */
  readonly resources: Iterator<Resource>;
  /** Whether an end-of-snapshot marker follows. */
  readonly marker: boolean;
  /** Cursor of the marker. */
  readonly cursor?: string;
}

/** Resources handed over at a time; bounds what an early close has fetched in vain. */
const PAGE = 128;

/** A prologue from resources in memory, taken lazily. */
export function pagedPrologue(source: SnapshotReader): WatchPrologue {
  let ended = false;
  return {
    revision: source.revision,
    nextPage: () => {
      if (ended) return undefined;
      const events: WatchEvent[] = [];
      while (events.length < PAGE && !ended) {
        const next = source.resources.next();
        if (next.done === true) ended = true;
        else events.push({ operation: "upsert", resource: next.value });
      }
      if (ended && source.marker) events.push(markerEvent(source.cursor));
      return events;
    },
    close: () => {
      ended = true;
      source.resources.return?.();
    },
  };
}

/** A prologue of the commits that a resumed watch has missed. */
export function backlogPrologue(revision: number, commits: readonly Commit[]): WatchPrologue {
  let page: readonly WatchEvent[] | undefined = commits.map(commitToEvent);
  return {
    revision,
    nextPage: () => {
      const events = page;
      page = undefined;
      return events;
    },
    close: () => {
      page = undefined;
    },
  };
}

/** The end-of-snapshot marker. */
export function markerEvent(cursor: string | undefined): WatchEvent {
  return { operation: "endOfSnapshot", ...(cursor === undefined ? {} : { cursor }) };
}
