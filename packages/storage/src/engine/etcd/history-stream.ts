import { setTimeout as delay } from "node:timers/promises";
import {
  WatchCreateRequest,
  WatchProgressRequest,
  WatchRequest,
  type WatchResponse,
} from "@stackwright/proto/etcd";
import type { Event } from "@stackwright/proto/etcd/mvccpb";
import { Event_EventType } from "@stackwright/proto/etcd/mvccpb";
import { isStorageError, StorageError } from "../../errors.ts";
import type { Commit, DamagedCommit } from "../../feed/commit.ts";
import { formatCursor } from "../../feed/cursor.ts";
import type { EtcdClient } from "./etcd-client.ts";
import type { Layout } from "./layout.ts";
import { endOfRevision, firstRevisionAfter, positionOf } from "./position.ts";
import { readFailure } from "./rpc-failure.ts";
import { describeDamagedValue, fromValue } from "./values.ts";

/** What a {@link historyStream} gives: the next commits, and how far it is certain to have come. */
interface HistoryPage {
  readonly commits: readonly (Commit | DamagedCommit)[];
  readonly position: number;
  /** Whether the commits end with all those of a revision. */
  readonly isWhole: boolean;
}

/** Where and how to read the history. */
export interface HistoryStreamOptions {
  readonly client: EtcdClient;
  readonly layout: Layout;
  readonly epoch: string;
  /** Commits up to here are left out. */
  readonly after: number;
  /** How often the server is asked how far it has come. */
  readonly progressMs: number;
  readonly signal: AbortSignal;
  /** Resolves when the server is to be asked before that, or the signal aborts. */
  readonly asked?: ((ending: AbortSignal) => Promise<void>) | undefined;
}

/**
 * Streams the commits behind a position from the member in use until something breaks: then it
 * throws, and a new stream can start where this one has come to. `STORAGE_WATCH_CLOSED` means that
 * what comes next is gone for good.
 *
 * The stream starts at the revision that the position is in, so changes that were seen already come
 * again; they are recognised by their place, which is the same every time.
 */
export async function* historyStream(options: HistoryStreamOptions): AsyncGenerator<HistoryPage> {
  try {
    yield* readHistory(options);
  } catch (error) {
    throw readFailure(error, "read").error;
  }
}

async function* readHistory(options: HistoryStreamOptions): AsyncGenerator<HistoryPage> {
  const { client, layout, epoch, signal } = options;
  const { member } = client;
  const requests = watchRequests(layout, firstRevisionAfter(options.after), options);
  const metadata = await client.streamMetadata();
  const responses = member.watch.watch(requests, { metadata, signal });
  let position = options.after;
  let revision = 0n;
  let place = 0;
  let isCreated = false;
  for await (const response of responses) {
    checkAlive(client, response);
    isCreated ||= response.created;
    // Events that come before the watch is announced wait for that at the server, and how far it has come is said at once: before
    // those events, which would then count as sent.
    if (!isCreated) continue;
    const commits: (Commit | DamagedCommit)[] = [];
    for (const event of response.events) {
      const at = event.kv?.modRevision ?? 0n;
      place = at === revision ? place + 1 : 0;
      revision = at;
      const here = positionOf(at, place);
      if (here <= position) continue;
      position = here;
      commits.push(toCommit(layout, event, here, epoch));
    }
    // Without events it is a progress notification: all events up to its revision were sent. One
    // that is for the revision of the last event does not say that the last one was its last.
    if (response.events.length === 0 && !response.created) {
      position = Math.max(position, endOfRevision(response.header?.revision ?? 0n));
    }
    yield { commits, position, isWhole: !response.fragment };
  }
  throw new StorageError("STORAGE_INCONSISTENT", "the server ended the watch");
}

async function* watchRequests(
  layout: Layout,
  startRevision: bigint,
  { progressMs, signal, asked }: Pick<HistoryStreamOptions, "progressMs" | "signal" | "asked">,
): AsyncGenerator<WatchRequest> {
  const create = WatchCreateRequest.create({
    ...layout.resources,
    startRevision,
    prevKv: true,
    progressNotify: true,
    fragment: true,
  });
  yield WatchRequest.create({ requestUnion: { $case: "createRequest", value: create } });
  const progress = WatchProgressRequest.create({});
  while (!signal.aborted) {
    await progressDue(progressMs, signal, asked);
    if (signal.aborted) return;
    yield WatchRequest.create({ requestUnion: { $case: "progressRequest", value: progress } });
  }
}

/** Resolves when the server is to be asked, or the signal aborts. */
async function progressDue(
  progressMs: number,
  signal: AbortSignal,
  asked: HistoryStreamOptions["asked"],
): Promise<void> {
  const over = new AbortController();
  const ending = AbortSignal.any([signal, over.signal]);
  const timer = delay(progressMs, undefined, { signal: ending, ref: false }).catch(() => undefined);
  await Promise.race(asked === undefined ? [timer] : [timer, asked(ending)]);
  over.abort();
}

function checkAlive(client: EtcdClient, response: WatchResponse): void {
  client.checkHeader(response.header);
  if (response.compactRevision > 0n) {
    throw new StorageError("STORAGE_WATCH_CLOSED", "the history was compacted");
  }
  if (!response.canceled) return;
  const reason = response.cancelReason;
  if (/auth|permission/i.test(reason)) client.dropToken();
  throw new StorageError("STORAGE_INCONSISTENT", `the watch was canceled: ${reason}`);
}

function toCommit(
  layout: Layout,
  event: Event,
  position: number,
  epoch: string,
): Commit | DamagedCommit {
  const isDelete = event.type === Event_EventType.DELETE;
  const kv = isDelete ? event.prevKv : event.kv;
  if (kv === undefined) {
    throw new StorageError("STORAGE_WATCH_CLOSED", "a deleted resource was compacted");
  }
  try {
    return {
      revision: position,
      operation: isDelete ? "delete" : "upsert",
      resource: fromValue(layout, kv),
      cursor: formatCursor(epoch, position),
    };
  } catch (error) {
    if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
    const { id, reason } = describeDamagedValue(layout, kv, error.message);
    return { revision: position, id, reason };
  }
}
