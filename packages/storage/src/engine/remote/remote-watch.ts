import { setTimeout as delay } from "node:timers/promises";
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
  /** Whether the server can continue a watch behind a position. */
  readonly resumes: boolean;
  readonly timeoutMs: number;
  /** The open watches, this one among them while it is. */
  readonly watches: Set<WatchStream>;
  /** Waits before a stream that broke is opened again; rejects when the signal aborts. @default by the clock of the process */
  readonly pause?: (forMs: number, signal: AbortSignal) => Promise<void>;
}

// The stream is read as it comes. While the snapshot lasts, reading waits for the consumer, so that
// a large one is not held in memory here. From its end on the events go into the buffer of the
// watch, whose bound is that of a local one: a consumer that is too slow loses the watch, and does
// not depend on how much the network buffers. The history of a resumed watch has no marker behind it
// and can be larger than the buffer, so reading one waits for the consumer all the time, and so does reading what comes
// behind a position after a break; the server, whose watch has the same bound, ends it when it falls behind. The marker
// that separates snapshot and events is always asked for.
//
// Once the snapshot is through every event has a position, and bookmarks, which are always asked for too, keep it
// fresh. So a stream that breaks is opened again behind the last position, for as long as it takes: nothing is lost or
// comes twice. Whether the history reaches that far, and the token still allows it, the server says.

/** The longest pause before a stream that broke is opened again, in milliseconds. */
const MOST_PAUSE_MS = 2_000;

/** Opens a watch on the server. Resolves once the server has established it. */
export async function openRemoteWatch(parts: RemoteWatchOptions): Promise<WatchStream> {
  const { options, buffer } = parts;
  const stopping = new AbortController();
  const stream = new WatchStream(buffer, () => {
    stopping.abort(new StorageError("STORAGE_WATCH_ENDED"));
    parts.watches.delete(stream);
  });
  parts.watches.add(stream);
  const opened = await openStream(parts, options.resumeAfter, stopping.signal);
  if (opened.failure !== undefined && opened.failure.code !== "STORAGE_WATCH_CLOSED") {
    stream.close();
    throw opened.failure;
  }
  void new Pump(parts, stream, stopping.signal).run(opened);
  return stream;
}

/** A stream of the server, and why there is none. Its events fail in the same way. */
interface OpenedStream {
  readonly events: AsyncIterator<WatchListEvent>;
  readonly failure?: StorageError;
  /** Ends the call, which may have more to say than was read. */
  readonly release: () => void;
}

/** Opens a stream, behind a position if one is given. Never rejects. */
async function openStream(
  { client, filter, marker, resumes, timeoutMs }: RemoteWatchOptions,
  resumeAfter: string | undefined,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const giving = new AbortController();
  const established = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    const late = new StorageError("STORAGE_INCONSISTENT", `no watch within ${timeoutMs} ms`);
    established.reject(late);
    giving.abort(late);
  }, timeoutMs);
  const responses = client.watchList(
    {
      filter: filterToMessage(filter),
      endOfSnapshot: marker && resumeAfter === undefined,
      resumeAfter,
      bookmarks: resumes,
    },
    {
      signal: AbortSignal.any([signal, giving.signal]),
      onHeader: () => established.resolve(),
    },
  );
  const release = (): void => giving.abort(new StorageError("STORAGE_WATCH_ENDED"));
  const read = flatten(responses);
  const first = read.next();
  const events = startingWith(first, read);
  try {
    // A call that fails has no headers, or has them together with its status.
    await Promise.race([established.promise, first]);
    return { events, release };
  } catch (error) {
    first.catch(() => undefined);
    return { events, failure: rpcToStorageError(error, "read"), release };
  } finally {
    clearTimeout(timer);
  }
}

async function delayed(forMs: number, signal: AbortSignal): Promise<void> {
  await delay(forMs, undefined, { signal, ref: false });
}

/** Reads streams of the server into a watch, one after the other. */
class Pump {
  readonly #parts: RemoteWatchOptions;
  readonly #stream: WatchStream;
  readonly #signal: AbortSignal;
  readonly #prologue = new Prologue();
  /** Whether the snapshot is through. */
  #isLive: boolean;
  #revision = 0;
  /** Behind which a further stream is opened. */
  #cursor: string | undefined;
  #wasReopened = false;
  /** Streams that were opened since the last one that brought something. */
  #attempts = 0;

  constructor(parts: RemoteWatchOptions, stream: WatchStream, signal: AbortSignal) {
    this.#parts = parts;
    this.#stream = stream;
    this.#signal = signal;
    this.#cursor = parts.options.resumeAfter;
    this.#isLive = this.#cursor !== undefined || !parts.marker;
    stream.start(this.#prologue);
    if (this.#isLive) this.#prologue.end([]);
  }

  async run(first: OpenedStream): Promise<void> {
    let opened = first;
    for (;;) {
      const failure = await this.#read(opened.events);
      opened.release();
      if (!this.#canResume(failure)) {
        this.#stream.fail(
          failure.code === "STORAGE_WATCH_CLOSED"
            ? failure
            : new StorageError("STORAGE_WATCH_CLOSED", failure.message, { cause: failure }),
        );
        return;
      }
      const reopened = await this.#reopen();
      if (reopened === undefined) return;
      opened = reopened;
      this.#wasReopened = true;
    }
  }

  /** A broken connection, or a server that went: what the server says about the watch itself is the end of it. */
  #canResume({ code }: StorageError): boolean {
    const isPossible = this.#parts.resumes && this.#isLive && this.#cursor !== undefined;
    return isPossible && code === "STORAGE_INCONSISTENT";
  }

  /** The events behind the position, once there is a server that has an answer; nothing when the watch has ended. */
  async #reopen(): Promise<OpenedStream | undefined> {
    const { pause = delayed } = this.#parts;
    while (!this.#signal.aborted) {
      const longest = Math.min(20 * 2 ** this.#attempts, MOST_PAUSE_MS);
      this.#attempts += 1;
      await pause(longest * (0.5 + Math.random() / 2), this.#signal).catch(() => undefined);
      if (this.#signal.aborted) return undefined;
      const opened = await openStream(this.#parts, this.#cursor, this.#signal);
      const { failure } = opened;
      if (failure === undefined || !this.#canResume(failure)) return opened;
      opened.release();
    }
    return undefined;
  }

  /** Reads until the stream ends, and says why. */
  async #read(events: AsyncIterator<WatchListEvent>): Promise<StorageError> {
    try {
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        await this.#take(messageToEvent(next.value));
      }
      return new StorageError("STORAGE_INCONSISTENT", "the server ended the stream");
    } catch (error) {
      return rpcToStorageError(error, "read");
    }
  }

  async #take(event: WatchEvent): Promise<void> {
    const { options } = this.#parts;
    // Streams that are opened and bring nothing are failures as well.
    if (event.cursor !== undefined && event.cursor !== this.#cursor) this.#attempts = 0;
    this.#cursor = event.cursor ?? this.#cursor;
    if (event.operation === "endOfSnapshot") {
      this.#isLive = true;
      this.#prologue.end(options.endOfSnapshot === true ? [event] : []);
    } else if (event.operation === "bookmark") {
      this.#revision += 1;
      const { cursor } = event;
      if (options.bookmarks === true) this.#stream.bookmark({ revision: this.#revision, cursor });
    } else if (this.#isLive) {
      this.#revision += 1;
      this.#stream.push({ ...event, revision: this.#revision });
      const isHistory = options.resumeAfter !== undefined || this.#wasReopened;
      if (isHistory) await this.#stream.room();
    } else {
      await this.#prologue.add(event);
    }
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

async function* startingWith(
  first: Promise<IteratorResult<WatchListEvent>>,
  rest: AsyncIterator<WatchListEvent>,
): AsyncGenerator<WatchListEvent> {
  for (let next = await first; next.done !== true; next = await rest.next()) yield next.value;
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
    case "bookmark":
      return { operation: "bookmark", cursor: cursor ?? "" };
    case undefined:
    default:
      throw new StorageError("STORAGE_WATCH_CLOSED", "an event of an unknown kind");
  }
}
