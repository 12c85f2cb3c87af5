import { DEFAULT_LIMITS, MAX_BATCH_OPERATIONS } from "../capabilities.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { toReadonlyResource } from "../freeze.ts";
import type { CallOptions, Watch, WatchEvent, WatchSource } from "../types.ts";
import { COMMIT_OVERHEAD_BYTES, type Commit, commitBytes, commitToEvent } from "./commit.ts";

/**
 * How much a watch may hold back for a consumer that is slower than the commits. The commits of a
 * batch come at once, so a bound below the largest batch is raised to it.
 */
export interface WatchBufferOptions {
  /** Most buffered commits, at least 32. @default 4096 */
  readonly events?: number;
  /** Most bytes of buffered commits, payload and a flat amount each. @default 64 MiB */
  readonly bytes?: number;
  /** How often a watch that asks for bookmarks gets one while nothing else comes, in milliseconds. @default 10,000 */
  readonly bookmarkMs?: number;
}

/** What the largest batch takes in a buffer: no bound may close a watch over one. */
const LARGEST_BATCH_BYTES =
  DEFAULT_LIMITS.batchBytes + MAX_BATCH_OPERATIONS * COMMIT_OVERHEAD_BYTES;

/** {@link WatchBufferOptions} with the defaults filled in. */
export type ResolvedWatchBuffer = Required<WatchBufferOptions>;

/** Fills in the defaults of {@link WatchBufferOptions}. */
export function resolveWatchBuffer(options: WatchBufferOptions = {}): ResolvedWatchBuffer {
  return {
    events: Math.max(options.events ?? 4096, MAX_BATCH_OPERATIONS),
    bytes: Math.max(options.bytes ?? 64 * 1024 * 1024, LARGEST_BATCH_BYTES),
    bookmarkMs: options.bookmarkMs ?? 10_000,
  };
}

/** What a watch delivers before its first delta: the snapshot, or the history since a cursor. */
export interface WatchPrologue {
  /** Commits up to this revision are part of the prologue; the watch drops them from its buffer. */
  readonly revision: number;
  /** The next events, or `undefined` at the end. Called again only after the last call settled. */
  nextPage(): readonly WatchEvent[] | undefined | Promise<readonly WatchEvent[] | undefined>;
  /** Frees what the pages come from; called once, at the end or when the watch closes. */
  close(): void;
}

/** A position in the order of all commits. */
export interface FeedPosition {
  readonly revision: number;
  readonly cursor: string;
}

/** How far what is published has come. */
export interface FeedProgress {
  /** Whether it ends with a whole batch. */
  readonly isWhole: boolean;
  /** Resolves when everything that was acknowledged before the call is published. */
  caughtUp(): Promise<void>;
}

interface Waiter {
  readonly resolve: (event: WatchEvent) => void;
  readonly reject: (reason: Error) => void;
}

// A watch in three stages: opening (commits are buffered already, the prologue is not there yet),
// prologue, live. The engine subscribes the stream to the feed *before* it takes the snapshot and
// hands over the prologue afterwards: no commit falls between the two, and those that are in both
// are recognised by their revision. An event leaves the stream only in the hands of a pending or
// calling `next`, so an aborted one takes nothing with it.

/** The {@link Watch} of engines that take part in an {@link EventFeed}. */
export class WatchStream implements Watch {
  readonly #buffer: ResolvedWatchBuffer;
  readonly #release: () => void;
  #prologue: WatchPrologue | undefined;
  #page: readonly WatchEvent[] = [];
  #pageIndex = 0;
  #loading = false;
  /** Everything up to here is in the prologue; not known yet while the watch is opening. */
  #from: number | undefined;
  #commits: Commit[] = [];
  #head = 0;
  #bytes = 0;
  /** Revision of the last commit or bookmark that was delivered. */
  #delivered = 0;
  #bookmark: FeedPosition | undefined;
  #waiter: Waiter | undefined;
  #listener: (() => void) | undefined;
  #onRoom: (() => void) | undefined;
  #end: StorageError | undefined;

  readonly source: WatchSource | undefined;

  /** `release` is called once, when the stream ends for any reason. With `progress` the stream has a source. */
  constructor(buffer: ResolvedWatchBuffer, release: () => void, progress?: FeedProgress) {
    this.#buffer = buffer;
    this.#release = release;
    this.source = progress && this.#sourceOf(progress);
  }

  #sourceOf(progress: FeedProgress): WatchSource {
    const take = (): WatchEvent | undefined => (this.#end === undefined ? this.#take() : undefined);
    const failure = (): StorageError | undefined => this.#end;
    return {
      take,
      get failure() {
        return failure();
      },
      get isWhole() {
        return progress.isWhole;
      },
      onReady: (listener) => {
        this.#listener = listener;
      },
      caughtUp: async () => progress.caughtUp(),
    };
  }

  /** Hands over the prologue; events flow from now on. */
  start(prologue: WatchPrologue): void {
    if (this.#end !== undefined) {
      prologue.close();
      return;
    }
    this.#prologue = prologue;
    this.#from = prologue.revision;
    this.#wake();
  }

  /** Takes a commit that the filter selects, in commit order. */
  push(commit: Commit): void {
    if (this.#end !== undefined) return;
    if (this.#from !== undefined && commit.revision <= this.#from) return;
    this.#bookmark = undefined;
    this.#commits.push(commit);
    this.#bytes += commitBytes(commit);
    this.#wake();
    if (
      this.#commits.length - this.#head > this.#buffer.events ||
      this.#bytes > this.#buffer.bytes
    ) {
      this.fail(
        new StorageError("STORAGE_WATCH_CLOSED", "the consumer is slower than the commits"),
      );
    }
  }

  /** Takes a position behind all commits that were pushed, to be delivered after them. */
  bookmark(position: FeedPosition): void {
    if (this.#from === undefined || this.#prologue !== undefined) return;
    if (position.revision <= Math.max(this.#from, this.#delivered)) return;
    this.#bookmark = position;
    this.#wake();
  }

  /** Ends the stream at a commit that cannot be delivered, unless the prologue covers it. */
  lose(revision: number, error: StorageError): void {
    if (this.#from === undefined || revision > this.#from) this.fail(error);
  }

  /**
   * Resolves when at most half of the buffer is in use, or the stream has ended. For a source that
   * can wait: what it does not push yet is held, and bounded, where it comes from.
   */
  async room(): Promise<void> {
    while (this.#end === undefined && this.#isHalfFull()) {
      await new Promise<void>((resolve) => {
        this.#onRoom = resolve;
      });
    }
  }

  #isHalfFull(): boolean {
    const { events, bytes } = this.#buffer;
    return this.#commits.length - this.#head > events / 2 || this.#bytes > bytes / 2;
  }

  /** Ends the stream; buffered events are dropped, every `next` from now on gets the error. */
  fail(error: StorageError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#commits = [];
    this.#bookmark = undefined;
    this.#page = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#prologue?.close();
    this.#prologue = undefined;
    this.#release();
    this.#onRoom?.();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(error);
    this.#listener?.();
  }

  next(options: CallOptions = {}): Promise<WatchEvent> {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#waiter !== undefined) {
      return Promise.reject(
        new StorageError("STORAGE_INVALID_ARGUMENT", "a watch takes one next() at a time"),
      );
    }
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const ready = this.#take();
    if (ready !== undefined) return Promise.resolve(detach(ready));
    // Not narrowed: #take fails the stream when the prologue throws.
    const failure = this.#end as StorageError | undefined;
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise<WatchEvent>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiter = undefined;
        reject(signal?.reason as Error);
      };
      this.#waiter = {
        resolve: (event) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(event);
        },
        reject: (reason) => {
          signal?.removeEventListener("abort", onAbort);
          reject(reason);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  close(): void {
    this.fail(new StorageError("STORAGE_WATCH_ENDED"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent, undefined> {
    return {
      next: async () => {
        try {
          return { value: await this.next(), done: false };
        } catch (error) {
          if (error instanceof StorageError && error.code === "STORAGE_WATCH_ENDED") {
            return { value: undefined, done: true };
          }
          throw error;
        }
      },
      return: () => {
        this.close();
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }

  /** Gives the waiting `next` its event, if there is one. */
  #wake(): void {
    this.#listener?.();
    if (this.#waiter === undefined) return;
    const event = this.#take();
    if (event === undefined) return;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter.resolve(detach(event));
  }

  #take(): WatchEvent | undefined {
    while (this.#prologue !== undefined) {
      const event = this.#page[this.#pageIndex];
      if (event !== undefined) {
        this.#pageIndex += 1;
        return event;
      }
      if (this.#loading || !this.#loadPage(this.#prologue)) return undefined;
    }
    const from = this.#from;
    if (from === undefined) return undefined;
    for (;;) {
      const commit = this.#shift();
      if (commit === undefined) return this.#takeBookmark();
      if (commit.revision > from) {
        this.#delivered = commit.revision;
        return commitToEvent(commit);
      }
    }
  }

  #takeBookmark(): WatchEvent | undefined {
    const bookmark = this.#bookmark;
    if (bookmark === undefined) return undefined;
    this.#bookmark = undefined;
    this.#delivered = bookmark.revision;
    return { operation: "bookmark", cursor: bookmark.cursor };
  }

  /** Fetches a page; true when it is there already. */
  #loadPage(prologue: WatchPrologue): boolean {
    this.#loading = true;
    try {
      const page = prologue.nextPage();
      if (!(page instanceof Promise)) {
        this.#turnPage(page);
        return true;
      }
      void this.#awaitPage(page);
    } catch (error) {
      this.#failPrologue(error);
    }
    return false;
  }

  async #awaitPage(page: Promise<readonly WatchEvent[] | undefined>): Promise<void> {
    try {
      const loaded = await page;
      if (this.#end !== undefined) return;
      this.#turnPage(loaded);
      this.#wake();
    } catch (error) {
      this.#failPrologue(error);
    }
  }

  #failPrologue(error: unknown): void {
    if (isStorageError(error, "STORAGE_CORRUPT")) {
      // Another watch would end in the same way.
      this.fail(error);
      return;
    }
    const reason = error instanceof Error ? error.message : String(error);
    this.fail(new StorageError("STORAGE_WATCH_CLOSED", reason, { cause: error }));
  }

  #turnPage(page: readonly WatchEvent[] | undefined): void {
    this.#loading = false;
    this.#page = page ?? [];
    this.#pageIndex = 0;
    if (page !== undefined) return;
    this.#prologue?.close();
    this.#prologue = undefined;
  }

  /** First in, first out over an array: the head is cut off when half of the array is used up. */
  #shift(): Commit | undefined {
    const commit = this.#commits[this.#head];
    if (commit === undefined) return undefined;
    this.#head += 1;
    this.#bytes -= commitBytes(commit);
    if (this.#onRoom !== undefined && !this.#isHalfFull()) this.#onRoom();
    if (this.#head * 2 > this.#commits.length) {
      this.#commits = this.#commits.slice(this.#head);
      this.#head = 0;
    }
    return commit;
  }
}

/** The event as its consumer gets it: nothing in it is shared with the store. */
function detach(event: WatchEvent): WatchEvent {
  if (!("resource" in event)) return event;
  return { ...event, resource: toReadonlyResource(event.resource) };
}
