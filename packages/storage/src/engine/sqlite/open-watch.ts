import { StorageError } from "../../errors.ts";
import { commitToEvent } from "../../feed/commit.ts";
import { formatCursor, parseCursor } from "../../feed/cursor.ts";
import { markerEvent } from "../../feed/prologue.ts";
import type { WatchPrologue } from "../../feed/watch-stream.ts";
import { filterMatches, type ResourceFilter } from "../../key.ts";
import type { WatchEvent, WatchOptions } from "../../types.ts";
import { decodeRows } from "./decode-rows.ts";
import { eventCommit } from "./event-commit.ts";
import { fromBodyRow } from "./rows.ts";
import { scanPages } from "./scan-pages.ts";
import type { StoreClient } from "./store-client.ts";

/** Events of the history fetched at a time. */
const HISTORY_PAGE = 512;

/** The snapshot of a new watch; its pages are fetched as they are consumed. */
export async function openSnapshotWatch(
  client: StoreClient,
  filter: ResourceFilter,
  { endOfSnapshot: marker = false, onDamaged }: WatchOptions,
): Promise<WatchPrologue> {
  const pages = scanPages(client, { kind: "filter", filter });
  let next = await pages.next();
  if (next.done === true) throw new StorageError("STORAGE_INCONSISTENT", "a scan without a page");
  const { revision, epoch } = next.value;
  let first = true;
  let marked = !marker;
  return {
    revision,
    nextPage: async (): Promise<readonly WatchEvent[] | undefined> => {
      if (!first && next.done !== true) next = await pages.next();
      first = false;
      if (next.done !== true) {
        const resources = await decodeRows(client, next.value.rows, fromBodyRow, onDamaged);
        return resources.map((resource) => ({ operation: "upsert", resource }));
      }
      if (marked) return undefined;
      marked = true;
      return [markerEvent(formatCursor(epoch, revision))];
    },
    close: () => void pages.return(undefined),
  };
}

/** The history of a resumed watch; `STORAGE_WATCH_CLOSED` when it is not retained. */
export async function openResumed(
  client: StoreClient,
  filter: ResourceFilter,
  cursor: string,
): Promise<WatchPrologue> {
  const { epoch } = await client.call("changes", { after: undefined, limit: 0 });
  const after = parseCursor(cursor, epoch);
  if (after === undefined) throw lostHistory();
  let page = await client.call("changes", { after, limit: HISTORY_PAGE });
  const { revision } = page;
  let first = true;
  let position = after;
  return {
    revision,
    nextPage: async (): Promise<readonly WatchEvent[] | undefined> => {
      if (!first) {
        if (position >= revision) return undefined;
        page = await client.call("changes", { after: position, limit: HISTORY_PAGE });
      }
      first = false;
      if (page.epoch !== epoch || page.events === undefined) throw lostHistory();
      // Of what was committed since the watch was opened its buffer has the rest.
      const events = page.events.filter((event) => event.revision <= revision);
      position = events.at(-1)?.revision ?? revision;
      try {
        return events
          .map((event) => eventCommit(event, epoch))
          .filter((commit) => filterMatches(filter, commit.resource))
          .map(commitToEvent);
      } catch (error) {
        // Of the history alone: what is stored now may be intact.
        throw lostHistory({ cause: error });
      }
    },
    close: () => undefined,
  };
}

function lostHistory(options: { readonly cause?: unknown } = {}): StorageError {
  const message = "the history after the cursor is not retained";
  return new StorageError("STORAGE_WATCH_CLOSED", message, options);
}
