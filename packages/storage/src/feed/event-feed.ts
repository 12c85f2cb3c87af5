import { StorageError } from "../errors.ts";
import type { ResourceFilter } from "../key.ts";
import type { Commit, DamagedCommit } from "./commit.ts";
import { SubscriptionIndex } from "./subscription-index.ts";
import {
  type FeedPosition,
  type FeedProgress,
  type ResolvedWatchBuffer,
  WatchStream,
} from "./watch-stream.ts";

/**
 * Fans the commits of one backend instance out to its watches.
 *
 * The engine publishes in commit order, and publishes a commit only when a read that starts
 * afterwards on this instance is certain to see it. That rule is all of "monotonic reads between
 * watches and reads".
 */
export class EventFeed {
  readonly #streams = new SubscriptionIndex<WatchStream>();
  readonly #buffer: ResolvedWatchBuffer;
  /** Everything up to here was handed to the watches. */
  #position: FeedPosition | undefined;
  /** Watches that get bookmarks, by a timer that runs while there are some. */
  readonly #bookmarked = new Set<WatchStream>();
  #timer: NodeJS.Timeout | undefined;
  readonly #progress: FeedProgress | undefined;
  /** Whether what was published ends with a whole batch; engines that publish one in several turns say so. */
  isWhole = true;

  /** With `catchUp`, which resolves when everything that was acknowledged before the call is published, streams have a source. */
  constructor(buffer: ResolvedWatchBuffer, catchUp?: () => Promise<unknown>) {
    this.#buffer = buffer;
    this.#progress = catchUp && this.#progressOf(catchUp);
  }

  #progressOf(catchUp: () => Promise<unknown>): FeedProgress {
    const isWhole = (): boolean => this.isWhole;
    return {
      get isWhole() {
        return isWhole();
      },
      caughtUp: async () => void (await catchUp()),
    };
  }

  /** Number of open watches. */
  get size(): number {
    return this.#streams.size;
  }

  /** Opens a stream; from now on it buffers. The caller hands it the prologue with `start`. */
  open(filter: ResourceFilter, bookmarks = false): WatchStream {
    let remove = (): void => undefined;
    const stream = new WatchStream(
      this.#buffer,
      () => {
        remove();
        this.#bookmarked.delete(stream);
        if (this.#bookmarked.size === 0) clearInterval(this.#timer);
      },
      this.#progress,
    );
    remove = this.#streams.add(filter, stream);
    if (!bookmarks) return stream;
    if (this.#bookmarked.size === 0) {
      this.#timer = setInterval(() => this.#sendBookmarks(), this.#buffer.bookmarkMs).unref();
    }
    this.#bookmarked.add(stream);
    return stream;
  }

  #sendBookmarks(): void {
    if (this.#position === undefined) return;
    for (const stream of this.#bookmarked) stream.bookmark(this.#position);
  }

  /** Hands a commit to the watches that select it; whether there was one. */
  publish(commit: Commit): boolean {
    let watched = false;
    this.#streams.match(commit.resource.id, (stream) => {
      watched = true;
      stream.push(commit);
    });
    if (commit.cursor !== undefined) this.advance(commit.revision, commit.cursor);
    return watched;
  }

  /** Says that all commits up to a position were handed over. */
  advance(revision: number, cursor: string): void {
    this.#position = { revision, cursor };
  }

  /** Ends the watches that a commit is for of which the content is damaged; all of them where its id is not known. */
  publishDamaged({ revision, id, reason }: DamagedCommit): void {
    const error = new StorageError(
      "STORAGE_WATCH_CLOSED",
      `what was committed is damaged: ${reason}`,
    );
    // Ending a stream takes it out of the index, so the list is made first.
    const concerned: WatchStream[] = [];
    if (id === undefined) concerned.push(...this.#streams.all());
    else this.#streams.match(id, (stream) => concerned.push(stream));
    for (const stream of concerned) stream.lose(revision, error);
  }

  /** Ends all watches. */
  closeAll(error: StorageError): void {
    // What comes next may be of another content, with other revisions.
    this.#position = undefined;
    // Ending a stream takes it out of the index, so the list is made first.
    const open = Array.from(this.#streams.all());
    for (const stream of open) stream.fail(error);
  }
}
