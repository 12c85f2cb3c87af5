import type { Collection, CollectionOptions } from "../collection.ts";
import type { Owner } from "../core/scope.ts";
import { SourceNode } from "../core/source-node.ts";
import { type Kind, type KindCapability, shapeKind } from "../kind.ts";
import type { Scope } from "../scope.ts";
import { ownerOf } from "../scope-handle.ts";
import { Feed, type FeedEvent } from "./feed.ts";

/**
 * What the items of a stream are:
 * - `objects`: each is added or replaces the one of the same key;
 * - `events`: changes, and `synced` after the initial ones;
 * - `snapshots`: each is all objects, and what is not among them is deleted.
 */
export interface StreamItems<T> {
  readonly objects: T;
  readonly events: FeedEvent<T> | { readonly type: "synced" };
  readonly snapshots: Iterable<T>;
}

/** Options of a collection made from a stream whose items are `M`. */
export interface StreamOptions<T, Tr extends KindCapability, M extends keyof StreamItems<T>>
  extends CollectionOptions {
  readonly kind?: Kind<T, Tr>;
  readonly items: M;
  /**
   * When the collection is synced: from the start, or when the stream says so: with its first snapshot,
   * its `synced` event, or its end.
   * @default "stream"
   */
  readonly synced?: "start" | "stream";
}

/** The least an observable has to offer. */
export interface ObservableLike<V> {
  subscribe(observer: {
    next(value: V): void;
    error(error: unknown): void;
    complete(): void;
  }): { unsubscribe(): void } | (() => void);
}

declare global {
  interface SymbolConstructor {
    /** The property by which observables of different libraries find each other, where it is defined. */
    readonly observable: symbol;
  }
}

/**
 * A collection of what an async iterable yields. It is read for as long as the collection lives; its end
 * leaves the last state, its failure too, and is reported as `KRT_SOURCE`.
 */
export function fromAsyncIterable<
  T,
  M extends keyof StreamItems<T>,
  Tr extends KindCapability = never,
>(
  scope: Scope,
  items: AsyncIterable<StreamItems<T>[M]>,
  options: StreamOptions<T, Tr, M>,
): Collection<T, Tr> {
  const { node, sink, stopped } = createStream(scope, options);
  const iterator = items[Symbol.asyncIterator]();
  stopped.addEventListener("abort", () => void iterator.return?.()?.then(undefined, () => {}));
  const read = async (): Promise<void> => {
    try {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        if (stopped.aborted) return;
        await sink.next(next.value);
      }
      sink.complete();
    } catch (error) {
      sink.error(error);
    }
  };
  void read();
  return node;
}

/** A collection of what an observable of any library emits. Disposing it unsubscribes. */
export function fromObservable<
  T,
  M extends keyof StreamItems<T>,
  Tr extends KindCapability = never,
>(
  scope: Scope,
  observable:
    | ObservableLike<StreamItems<T>[M]>
    | { [key: symbol]: () => ObservableLike<StreamItems<T>[M]> },
  options: StreamOptions<T, Tr, M>,
): Collection<T, Tr> {
  const { node, sink, stopped } = createStream(scope, options);
  const subscription = interopOf(observable).subscribe({
    next: (value) => void sink.next(value),
    error: (error) => sink.error(error),
    complete: () => sink.complete(),
  });
  stopped.addEventListener("abort", () => {
    if (typeof subscription === "function") subscription();
    else subscription.unsubscribe();
  });
  return node;
}

function interopOf<V>(
  observable: ObservableLike<V> | { [key: symbol]: () => ObservableLike<V> },
): ObservableLike<V> {
  if ("subscribe" in observable) return observable;
  const convert =
    observable[Symbol.observable ?? "@@observable"] ??
    (observable as Record<string, (() => ObservableLike<V>) | undefined>)["@@observable"];
  if (convert === undefined) throw new TypeError("this is not an observable");
  return convert.call(observable);
}

/** Where a stream's items go. Every method is safe to call in any order and at any time. */
interface Sink<V> {
  next(item: V): Promise<void>;
  error(error: unknown): void;
  complete(): void;
}

function createStream<T, Tr extends KindCapability, M extends keyof StreamItems<T>>(
  scope: Scope,
  options: StreamOptions<T, Tr, M>,
): { node: StreamNode<T>; sink: Sink<StreamItems<T>[M]>; stopped: AbortSignal } {
  const owner = ownerOf(scope);
  const node = new StreamNode<T>(owner, options.kind ?? shapeKind<T>(), options);
  owner.graph.construct(node, () => node.begin([], options.synced === "start"));
  return { node, sink: node.sink(options.items) as Sink<StreamItems<T>[M]>, stopped: node.stopped };
}

class StreamNode<T> extends SourceNode<T> {
  readonly #feed: Feed<T>;
  readonly #stop = new AbortController();
  /** The last snapshot that is being loaded: they must not overtake each other. */
  #loading: Promise<void> = Promise.resolve();

  constructor(owner: Owner, kind: Kind<T>, options: CollectionOptions) {
    super(owner, kind, options, "stream");
    this.#feed = new Feed<T>(this);
  }

  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  sink(items: keyof StreamItems<T>): Sink<StreamItems<T>[keyof StreamItems<T>]> {
    const feed = this.#feed;
    return {
      next: async (item) => {
        try {
          if (items === "snapshots") await this.#load(item as Iterable<T>);
          else if (items === "objects") feed.push({ type: "set", object: item as T });
          else this.#take(item as StreamItems<T>["events"]);
        } catch (error) {
          feed.fail("an item", error);
        }
      },
      error: (error) => feed.fail("the stream", error),
      complete: () => {
        void this.#loading.then(() => feed.drained()).then(() => feed.markSynced());
      },
    };
  }

  #take(event: StreamItems<T>["events"]): void {
    if (event.type === "synced") void this.#feed.drained().then(() => this.#feed.markSynced());
    else this.#feed.push(event);
  }

  async #load(objects: Iterable<T>): Promise<void> {
    this.#loading = this.#loadAfter(this.#loading, objects);
    await this.#loading;
  }

  async #loadAfter(former: Promise<void>, objects: Iterable<T>): Promise<void> {
    await former;
    if (this.#stop.signal.aborted) return;
    try {
      await this.#feed.replace(objects, this.#stop.signal);
      this.#feed.markSynced();
    } catch (error) {
      this.#feed.fail("a snapshot", error);
    }
  }

  protected override release(): void {
    this.#stop.abort();
    this.#feed.close();
  }
}
