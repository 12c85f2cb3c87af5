import { StorageError } from "../errors.ts";
import type { Commit } from "../feed/commit.ts";
import { CommitLog } from "../feed/commit-log.ts";
import { EventFeed } from "../feed/event-feed.ts";
import { backlogPrologue, pagedPrologue } from "../feed/prologue.ts";
import { filterMatches, type ResourceFilter } from "../key.ts";
import type { Watch, WatchEvent, WatchOptions, WatchSource } from "../types.ts";
import type { ResolvedCacheOptions } from "./cache-options.ts";
import { TypeContent } from "./type-content.ts";

/** What a {@link CachedType} is made of. */
interface CachedTypeParts {
  /** Of everything of the type, with a marker. */
  readonly watch: Watch;
  readonly source: WatchSource;
  readonly options: ResolvedCacheOptions;
  /** Called when what it holds has grown; whether there is room for that. */
  readonly hasRoom: () => boolean;
  /** Called once when there is no room for it. */
  readonly outgrown: () => void;
  /** Called once when it has ended. */
  readonly ended: () => void;
}

/**
 * - `loading`: the snapshot is not through.
 * - `serving`: content and history are whole up to where the watches of the instance are.
 * - `following`: it was too large to be held; the watches that it has go on, and it ends with the last of them.
 */
type CachedTypeState = "loading" | "serving" | "following" | "ended";

// Events are taken in the turn in which the engine publishes them. So the content is never behind what any watch of the instance has
// delivered, and the part of a batch that is published in one turn is never seen in half. Sequence numbers are those of the events of this
// follower; cursors are the engine's, so that a watch can continue at the engine where the history here ends.

/** Follows one type for all who watch and read it. */
export class CachedType {
  readonly #watch: Watch;
  readonly #source: WatchSource;
  readonly #options: ResolvedCacheOptions;
  readonly #hasRoom: CachedTypeParts["hasRoom"];
  readonly #outgrown: CachedTypeParts["outgrown"];
  readonly #ended: CachedTypeParts["ended"];
  readonly #feed: EventFeed;
  readonly #loaded = Promise.withResolvers<void>();
  #content: TypeContent;
  #log: CommitLog;
  /** The sequence numbers of the newest cursors. */
  readonly #positions = new Map<string, number>();
  #sequence = 0;
  #cursor: string | undefined;
  #state: CachedTypeState = "loading";
  #usedMs: number;

  constructor({ watch, source, options, hasRoom, outgrown, ended }: CachedTypeParts) {
    this.#watch = watch;
    this.#source = source;
    this.#options = options;
    this.#hasRoom = hasRoom;
    this.#outgrown = outgrown;
    this.#ended = ended;
    this.#feed = new EventFeed(options.watchBuffer);
    this.#content = new TypeContent(options.resourceBytes);
    this.#log = new CommitLog(options.history, 0, options.clock);
    this.#usedMs = options.clock.monotonicMs();
  }

  /** Begins to take events. */
  start(): void {
    this.#source.onReady(() => this.#drain());
    this.#drain();
  }

  get state(): CachedTypeState {
    return this.#state;
  }

  get bytes(): number {
    return this.#content.bytes;
  }

  get size(): number {
    return this.#content.size;
  }

  get watches(): number {
    return this.#feed.size;
  }

  /** Whether what was taken ends with a whole batch. */
  get isWhole(): boolean {
    return this.#source.isWhole;
  }

  /** Resolves when the snapshot is through, or the type has ended before. */
  loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  caughtUp(): Promise<void> {
    return this.#source.caughtUp();
  }

  /** The content, which is read in the same turn; only while it serves. */
  read(): TypeContent {
    this.#usedMs = this.#options.clock.monotonicMs();
    return this.#content;
  }

  /** A watch from memory; nothing where the engine has to give it. Only while it serves. */
  open(filter: ResourceFilter, options: WatchOptions): Watch | undefined {
    this.#usedMs = this.#options.clock.monotonicMs();
    if (options.resumeAfter !== undefined) return this.#resume(filter, options);
    if (this.#content.isPartFor(filter)) return undefined;
    const stream = this.#feed.open(filter, options.bookmarks);
    const cursor = this.#cursor;
    stream.start(
      pagedPrologue({
        revision: this.#sequence,
        resources: this.#content.snapshot(filter),
        marker: options.endOfSnapshot === true,
        ...(cursor === undefined ? {} : { cursor }),
      }),
    );
    return stream;
  }

  #resume(
    filter: ResourceFilter,
    { resumeAfter = "", bookmarks }: WatchOptions,
  ): Watch | undefined {
    const sequence = this.#positions.get(resumeAfter);
    const missed = sequence === undefined ? undefined : this.#log.since(sequence);
    if (missed === undefined) return undefined;
    const stream = this.#feed.open(filter, bookmarks);
    const matching = missed.filter(({ resource }) => filterMatches(filter, resource));
    stream.start(backlogPrologue(this.#sequence, matching));
    return stream;
  }

  /** Ends it when nothing has used it since a moment, or it only followed for watches that are closed. */
  sweep(usedBeforeMs: number): void {
    if (this.#feed.size > 0 || this.#state === "loading") return;
    if (this.#state === "following" || this.#usedMs < usedBeforeMs) this.#end(DROPPED);
  }

  close(): void {
    this.#end("the backend was closed");
  }

  /** Never throws: it runs within what the engine publishes, which a mistake here must not disturb. */
  #drain(): void {
    try {
      while (this.#state !== "ended") {
        const event = this.#source.take();
        if (event === undefined) break;
        this.#apply(event);
      }
    } catch (error) {
      const cause = StorageError.from(error);
      this.#end(cause.message, cause);
      return;
    }
    const { failure } = this.#source;
    if (failure !== undefined) this.#end(failure.message, failure);
  }

  #apply(event: WatchEvent): void {
    if (event.operation === "bookmark" || event.operation === "endOfSnapshot") {
      this.#sequence += 1;
      if (event.cursor !== undefined) this.#feed.advance(this.#sequence, this.#reach(event.cursor));
      if (event.operation === "bookmark") return;
      if (!this.#hasRoom()) {
        this.#outgrow();
        return;
      }
      this.#state = "serving";
      this.#loaded.resolve();
      return;
    }
    const { operation, resource, cursor } = event;
    if (this.#state !== "following") {
      if (operation === "upsert") this.#content.set(resource);
      else this.#content.delete(resource);
    }
    if (this.#state !== "loading") {
      this.#sequence += 1;
      const position = cursor === undefined ? {} : { cursor: this.#reach(cursor) };
      const commit: Commit = { revision: this.#sequence, operation, resource, ...position };
      if (this.#state === "serving") this.#log.push(commit);
      this.#feed.publish(commit);
    }
    if (this.#state !== "following" && !this.#hasRoom()) this.#outgrow();
  }

  /** Notes where the follower is. */
  #reach(cursor: string): string {
    this.#cursor = cursor;
    this.#positions.set(cursor, this.#sequence);
    if (this.#positions.size > this.#options.history.events + 1) {
      const [oldest] = this.#positions.keys();
      if (oldest !== undefined) this.#positions.delete(oldest);
    }
    return cursor;
  }

  /** It is too large to be held. Its watches need no more of it than its events. */
  #outgrow(): void {
    this.#outgrown();
    if (this.#state === "loading" || this.#feed.size === 0) {
      this.#end(DROPPED);
      return;
    }
    this.#state = "following";
    this.#forget();
  }

  #end(reason: string, cause?: Error): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#watch.close();
    this.#forget();
    this.#loaded.resolve();
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", reason, { cause }));
    this.#ended();
  }

  #forget(): void {
    this.#content = new TypeContent(this.#options.resourceBytes);
    this.#log = new CommitLog({ events: 0 });
    this.#positions.clear();
  }
}

const DROPPED = "the cache has dropped the type";
