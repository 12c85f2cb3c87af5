import type { Collection, CollectionOptions, WaitOptions } from "../collection.ts";
import type { Owner } from "../core/scope.ts";
import { SourceNode } from "../core/source-node.ts";
import { deferred } from "../deferred.ts";
import { type Kind, type KindCapability, shapeKind } from "../kind.ts";
import type { Scope } from "../scope.ts";
import { ownerOf } from "../scope-handle.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { Feed, type FeedEvent } from "./feed.ts";

/** All objects of a source at one instant. */
export interface Listing<T, R = string> {
  readonly objects: Iterable<T> | AsyncIterable<T>;
  /** The instant, as the source names it: from which a watch can resume. */
  readonly revision?: R;
}

/** What a watch yields. `revision`, where given, is where the next watch resumes after a break. */
export type SourceWatchEvent<T, R = string> =
  | (FeedEvent<T> & { readonly revision?: R })
  /** Nothing changed up to this revision. */
  | { readonly type: "bookmark"; readonly revision: R }
  /** End of the initial objects, for sources without `list`. */
  | { readonly type: "synced"; readonly revision?: R };

/** Options of one list or watch. */
export interface WatchRequest<R> {
  /** Aborted when the watch is given up. */
  readonly signal: AbortSignal;
  /** The revision to resume from. Absent for a list, and for a watch that begins with all objects. */
  readonly from: R | undefined;
}

/**
 * Something that can be listed and watched: an API server, a store, a directory. It takes one of three
 * forms:
 * - `list` returns a revision, and `watch` resumes from it;
 * - without `list`, `watch` called without `from` first yields all objects, then `synced`;
 * - `order: "watch-first"`: there are no revisions; the watch is begun before the list is taken, and
 *   what it yields meanwhile is applied afterwards.
 */
export interface ListWatcher<T, R = string> {
  list?(request: WatchRequest<R>): Promise<Listing<T, R>> | Listing<T, R>;
  watch(request: WatchRequest<R>): AsyncIterable<SourceWatchEvent<T, R>>;
  readonly order?: "list-first" | "watch-first";
  /** Whether an error means that `from` is too old, so that everything has to be listed anew. */
  isExpired?(error: unknown): boolean;
}

/** Options of a watched collection. */
export interface SourceWatchOptions<T, Tr extends KindCapability> extends CollectionOptions {
  readonly kind?: Kind<T, Tr>;
  /** How long to wait after a failure. */
  readonly backoff?: BackoffOptions;
}

/** A collection that follows a {@link ListWatcher}. */
export interface WatchedCollection<T, Tr extends KindCapability = never> extends Collection<T, Tr> {
  /** Lists everything anew. Resolves when the result is in. */
  resync(options?: WaitOptions): Promise<void>;
}

/**
 * A collection that follows `source`: it is synced when the first list is in. A watch that ends or fails
 * is begun again, from where it was or, where that is not possible, with a new list, whose result is
 * compared with the current objects: vanished objects are deleted, equal ones stay as they are. Failures are
 * reported as `KRT_SOURCE` and waited out.
 */
export function fromWatch<T, R = string, Tr extends KindCapability = never>(
  scope: Scope,
  source: ListWatcher<T, R>,
  options: SourceWatchOptions<T, Tr> = {},
): WatchedCollection<T, Tr> {
  const owner = ownerOf(scope);
  const node = new WatchNode<T, R>(owner, options.kind ?? shapeKind<T>(), source, options);
  owner.graph.construct(node, () => node.begin([], false));
  node.follow();
  return node;
}

/** The source's side of a watched collection: one loop of list and watch for as long as it lives. */
class WatchNode<T, R> extends SourceNode<T> implements WatchedCollection<T> {
  readonly #source: ListWatcher<T, R>;
  readonly #feed: Feed<T>;
  readonly #backoff: Backoff;
  readonly #ended = new AbortController();
  /** Aborted to leave the present watch. */
  #watching = new AbortController();
  #revision: R | undefined;
  #mustList = true;
  #listed: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(
    owner: Owner,
    kind: Kind<T>,
    source: ListWatcher<T, R>,
    options: Pick<SourceWatchOptions<T, never>, "backoff"> & CollectionOptions,
  ) {
    super(owner, kind, options, "watch");
    this.#source = source;
    this.#feed = new Feed<T>(this);
    this.#backoff = new Backoff(owner.graph.options.scheduler, options.backoff);
  }

  follow(): void {
    void this.#loop();
  }

  async resync({ signal }: WaitOptions = {}): Promise<void> {
    this.#mustList = true;
    if (this.#listed === undefined) {
      const { promise, resolve } = deferred<void>();
      this.#listed = { promise, resolve };
    }
    const { promise } = this.#listed;
    this.#watching.abort();
    if (signal === undefined) return promise;
    signal.throwIfAborted();
    const { promise: aborted, reject } = deferred<never>();
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  protected override release(): void {
    this.#ended.abort();
    this.#watching.abort();
    this.#feed.close();
    this.#listed?.resolve();
  }

  async #loop(): Promise<void> {
    const ended = this.#ended.signal;
    while (!ended.aborted) {
      this.#watching = new AbortController();
      const { signal } = this.#watching;
      const since = this.#backoff.now();
      try {
        await this.#round(signal);
      } catch (error) {
        if (ended.aborted) return;
        if (!signal.aborted) {
          this.#feed.fail("the watch", error);
          if (this.#source.isExpired?.(error) === true || this.#revision === undefined) {
            this.#mustList = true;
          }
          this.#backoff.resetIfSteady(since);
          await this.#backoff.wait(ended);
        }
      } finally {
        this.#watching.abort();
      }
    }
  }

  /** Lists where it has to, then watches until the watch ends. */
  async #round(signal: AbortSignal): Promise<void> {
    const lists = this.#mustList && this.#source.list !== undefined;
    if (lists && this.#source.order === "watch-first") {
      await this.#watchThenList(signal);
      return;
    }
    if (lists) await this.#list(signal);
    const from = this.#mustList ? undefined : this.#revision;
    const since = this.#backoff.now();
    const progress = await this.#follow(this.#source.watch({ signal, from }), signal);
    // A watch that ended by itself continues where it was; without a revision it may have missed changes.
    if (this.#revision === undefined) this.#mustList = true;
    await this.#afterEnd(since, progress, signal);
  }

  /**
   * Waits before the next watch, unless the last one made progress. All others could begin again with the
   * same result at once, however much they yielded.
   */
  async #afterEnd(since: number, progress: boolean, signal: AbortSignal): Promise<void> {
    if (progress || signal.aborted) return;
    this.#backoff.resetIfSteady(since);
    await this.#backoff.wait(signal);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const listing = await this.#source.list?.({ signal, from: undefined });
    if (listing === undefined) return;
    await this.#feed.replace(listing.objects, signal);
    this.#revision = listing.revision;
    this.#completeList();
  }

  #completeList(): void {
    this.#mustList = false;
    this.#feed.markSynced();
    this.#listed?.resolve();
    this.#listed = undefined;
  }

  /** The first event is asked for before the list is taken, so that the watch has begun by then. */
  async #watchThenList(signal: AbortSignal): Promise<void> {
    const events = this.#source.watch({ signal, from: undefined })[Symbol.asyncIterator]();
    const first = events.next();
    first.catch(() => {});
    await this.#list(signal);
    const rest: AsyncIterable<SourceWatchEvent<T, R>> = {
      [Symbol.asyncIterator]: () => {
        let next: typeof first | undefined = first;
        return {
          next: () => {
            const result = next ?? events.next();
            next = undefined;
            return result;
          },
          return: () => events.return?.() ?? Promise.resolve({ done: true, value: undefined }),
        };
      },
    };
    const since = this.#backoff.now();
    await this.#follow(rest, signal);
    this.#mustList = true;
    await this.#afterEnd(since, false, signal);
  }

  /**
   * Takes in what a watch yields until it ends. Returns whether it made progress: a change with another
   * revision than the one before, which the next watch will not yield again.
   */
  async #follow(
    events: AsyncIterable<SourceWatchEvent<T, R>>,
    signal: AbortSignal,
  ): Promise<boolean> {
    let progress = false;
    /** The initial objects of a watch without `list`, until it says that they are complete. */
    let initial = this.#mustList ? new Map<string, T>() : undefined;
    for await (const event of events) {
      if (signal.aborted) break;
      if (event.type === "synced") {
        if (initial !== undefined) await this.#feed.replace(initial.values(), signal);
        initial = undefined;
        this.#completeList();
      } else if (event.type !== "bookmark") {
        if (initial === undefined) this.#feed.push(event);
        else collectInitial(initial, event, this.kind);
        if (!progress && initial === undefined && this.#isLater(event.revision)) {
          progress = true;
          this.#backoff.reset();
        }
      }
      if (event.revision !== undefined) this.#revision = event.revision;
    }
    return progress;
  }

  /** Whether a change has a revision, and another than what came before. */
  #isLater(revision: R | undefined): boolean {
    return revision !== undefined && revision !== this.#revision;
  }
}

function collectInitial<T>(into: Map<string, T>, event: FeedEvent<T>, kind: Kind<T>): void {
  if (event.type === "set") into.set(kind.key(event.object), event.object);
  else into.delete("key" in event ? event.key : kind.key(event.object));
}
