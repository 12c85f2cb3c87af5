import type { RpcClient } from "@stackwright/proto/grpc";
import type { StorageService, WatchListEvent } from "@stackwright/proto/storage";
import { messageToResource } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { type ResolvedWatchBuffer, WatchStream } from "../../feed/watch-stream.ts";
import type { ResourceFilter } from "../../key.ts";
import type { WatchEvent, WatchOptions } from "../../types.ts";
import { filterToMessage } from "./wire.ts";
import { rpcToStorageError } from "./wire-error.ts";

/** Snapshot events that wait for the consumer before the stream is read on. */
const SNAPSHOT_EVENTS = 256;

/** What a remote watch is opened with. */
interface RemoteWatchOptions {
  readonly client: RpcClient<typeof StorageService>;
  readonly filter: ResourceFilter;
  readonly options: WatchOptions;
  readonly buffer: ResolvedWatchBuffer;
  /** Whether the server can mark the end of the snapshot. */
  readonly marker: boolean;
  readonly timeoutMs: number;
  /** The open watches, this one among them while it is. */
  readonly watches: Set<WatchStream>;
}

// The stream is read as it comes. While the snapshot lasts, reading waits for the consumer, so that
// a large one is not held in memory here. From its end on the events go into the buffer of the
// watch, whose bound is that of a local one: a consumer that is too slow loses the watch, and does
// not depend on how much the network buffers. The history of a resumed watch has no marker behind it
// and can be larger than the buffer, so reading one waits for the consumer all the time; the server,
// whose watch has the same bound, ends it when it falls behind. The marker that separates the two is always asked for.

/** Opens a watch on the server. Resolves once the server has established it. */
export async function openRemoteWatch(parts: RemoteWatchOptions): Promise<WatchStream> {
  const { client, filter, options, buffer, timeoutMs } = parts;
  const resumed = options.resumeAfter !== undefined;
  const stopping = new AbortController();
  const established = Promise.withResolvers<"established">();
  const timer = setTimeout(() => {
    const late = new StorageError("STORAGE_INCONSISTENT", `no watch within ${timeoutMs} ms`);
    established.reject(late);
    stopping.abort(late);
  }, timeoutMs);
  const responses = client.watchList(
    {
      filter: filterToMessage(filter),
      endOfSnapshot: parts.marker && !resumed,
      resumeAfter: options.resumeAfter,
    },
    { signal: stopping.signal, onHeader: () => established.resolve("established") },
  );
  const events = flatten(responses);
  const first = events.next();
  const stream = new WatchStream(buffer, () => {
    clearTimeout(timer);
    stopping.abort(new StorageError("STORAGE_WATCH_ENDED"));
    parts.watches.delete(stream);
  });
  parts.watches.add(stream);
  try {
    // A call that fails has no headers, or has them together with its status.
    await Promise.race([established.promise, first]);
  } catch (error) {
    const failure = rpcToStorageError(error, "read");
    if (failure.code !== "STORAGE_WATCH_CLOSED") {
      stream.close();
      first.catch(() => undefined);
      throw failure;
    }
  } finally {
    clearTimeout(timer);
  }
  void pump(stream, first, events, parts, resumed || !parts.marker);
  return stream;
}

/** Reads the stream into the watch until one of them ends. */
async function pump(
  stream: WatchStream,
  first: Promise<IteratorResult<WatchListEvent>>,
  events: AsyncIterator<WatchListEvent>,
  { options }: RemoteWatchOptions,
  live: boolean,
): Promise<void> {
  const prologue = new Prologue();
  stream.start(prologue);
  let revision = 0;
  let isLive = live;
  if (isLive) prologue.end([]);
  try {
    for (let next = await first; next.done !== true; next = await events.next()) {
      const event = messageToEvent(next.value);
      if (event.operation === "endOfSnapshot") {
        isLive = true;
        prologue.end(options.endOfSnapshot === true ? [event] : []);
      } else if (isLive) {
        revision += 1;
        stream.push({ ...event, revision });
        if (options.resumeAfter !== undefined) await stream.room();
      } else {
        await prologue.add(event);
      }
    }
    throw new StorageError("STORAGE_WATCH_CLOSED", "the server ended the stream");
  } catch (error) {
    const failure = rpcToStorageError(error, "read");
    stream.fail(
      failure.code === "STORAGE_WATCH_CLOSED"
        ? failure
        : new StorageError("STORAGE_WATCH_CLOSED", failure.message, { cause: error }),
    );
  }
}

/** The snapshot as it arrives. */
class Prologue {
  readonly revision = 0;
  #events: WatchEvent[] = [];
  #ended = false;
  #closed = false;
  #onChange: (() => void) | undefined;
  #onTaken: (() => void) | undefined;

  /** Resolves when there is room for more. */
  async add(event: WatchEvent): Promise<void> {
    this.#events.push(event);
    this.#onChange?.();
    while (this.#events.length >= SNAPSHOT_EVENTS && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
    }
  }

  end(last: readonly WatchEvent[]): void {
    this.#events.push(...last);
    this.#ended = true;
    this.#onChange?.();
  }

  async nextPage(): Promise<readonly WatchEvent[] | undefined> {
    while (this.#events.length === 0) {
      if (this.#ended || this.#closed) return undefined;
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
    const page = this.#events;
    this.#events = [];
    this.#onTaken?.();
    return page;
  }

  close(): void {
    this.#closed = true;
    this.#onChange?.();
    this.#onTaken?.();
  }
}

async function* flatten(
  responses: AsyncIterable<{ readonly events: readonly WatchListEvent[] }>,
): AsyncGenerator<WatchListEvent> {
  for await (const { events } of responses) yield* events;
}

function messageToEvent(message: WatchListEvent): WatchEvent {
  const { event, cursor } = message;
  const position = cursor === undefined ? {} : { cursor };
  switch (event?.$case) {
    case "upsert":
    case "delete":
      return { operation: event.$case, resource: messageToResource(event.value), ...position };
    case "endOfSnapshot":
      return { operation: "endOfSnapshot", ...position };
    case undefined:
    default:
      throw new StorageError("STORAGE_WATCH_CLOSED", "an event of an unknown kind");
  }
}
