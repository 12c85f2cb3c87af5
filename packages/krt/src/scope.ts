import type { Aggregate, Aggregators, GroupBy } from "./aggregate.ts";
import type {
  Cell,
  Collection,
  CollectionOptions,
  InputCollection,
  Singleton,
} from "./collection.ts";
import type {
  ManyFromTransformation,
  ManyTransformation,
  Output,
  RecursiveTransformation,
  SingletonTransformation,
  Transformation,
  TransformationContext,
} from "./context.ts";
import type { FailurePolicy } from "./core/derived-node.ts";
import type { Merge } from "./core/join-rule.ts";
import type { StatusOf } from "./core/status-node.ts";
import type { DeclaredFetches, FetchedBy } from "./declared-fetch.ts";
import type { Equals } from "./equality.ts";
import type { External, Trigger } from "./external.ts";
import type { Kind, KindCapability } from "./kind.ts";
import type { Index, IndexKeys, IndexOptions } from "./secondary-index.ts";

/** Options of collections whose objects have a kind. */
export interface KindOptions<T, Tr extends KindCapability> extends CollectionOptions {
  /** How objects are keyed and compared. @default derived from their shape, see the README */
  readonly kind?: Kind<T, Tr>;
}

/** Options of sources and cells. */
export interface SourceOptions<T, Tr extends KindCapability> extends KindOptions<T, Tr> {
  /**
   * Whether the collection is synced from the start. Otherwise it becomes so with `markSynced`.
   * @default true
   */
  readonly synced?: boolean;
}

/** Options of derivations. */
export interface DeriveOptions<O, Tr extends KindCapability> extends KindOptions<O, Tr> {
  /**
   * What becomes of an input's output when its transformation throws.
   * @default "keep"
   */
  readonly onFailure?: FailurePolicy;
  /** Only with {@link DeclaredOptions}. */
  readonly fetches?: undefined;
}

/** Options of derivations with declared fetches. */
export interface DeclaredOptions<O, F, Tr extends KindCapability>
  extends Omit<DeriveOptions<O, Tr>, "fetches"> {
  /**
   * Fetches that the transformation gets the results of. What is declared is known before the first run:
   * the graph is complete at once, no run is given up because a collection turns out to lie above or
   * not to be synced, and fetches that are the same for all inputs cost nothing per input.
   */
  readonly fetches: F;
}

/** Options of joins. */
export interface JoinOptions<T, Tr extends KindCapability> extends KindOptions<T, Tr> {
  /** Members have no key in common: changes pass straight through. Overlap is undefined; strict mode reports it. */
  readonly unchecked?: boolean;
  /** Makes one object of all that have a key. Without it the first member that has the key wins. */
  readonly merge?: Merge<T>;
}

/** Options of views. */
export interface ViewOptions<T, Tr extends KindCapability> extends KindOptions<T, Tr> {
  /** When two projections are equal and a change of the base therefore none. @default that of the kind */
  readonly equals?: Equals<T>;
}

/** Options of ordered views. */
export interface OrderOptions<T, Tr extends KindCapability> extends KindOptions<T, Tr> {
  /**
   * How many objects are shown at most.
   * @default all
   */
  readonly limit?: number;
  /**
   * How many objects come before the first one that is shown.
   * @default 0
   */
  readonly offset?: number;
}

/** What a transformation with status returns. */
export interface WithStatus<S, R> {
  readonly status: S | undefined;
  readonly output: R | undefined;
}

/** A derivation with a second collection that says how each input fared. */
export interface StatusPair<I, S, O, Tr extends KindCapability = never> {
  readonly status: Collection<StatusOf<I, S>>;
  readonly output: Collection<O, Tr>;
}

/** Options of a scope. */
export interface ScopeOptions {
  /** Put before the names of everything made in the scope, with a slash. */
  readonly prefix?: string;
  /** Aborting disposes the scope. */
  readonly signal?: AbortSignal;
}

/**
 * Makes collections and owns them: disposing the scope disposes everything made in it, newest first.
 * Everything made is complete when the call returns, as far as what it reads is synced; inside a batch
 * it is complete after the batch.
 */
export interface Scope extends Disposable {
  readonly disposed: boolean;
  /** A scope inside this one. */
  scope(options?: ScopeOptions): Scope;
  dispose(): void;

  /** A collection written by hand, with initial objects. */
  source<T, Tr extends KindCapability = never>(
    initial?: Iterable<T>,
    options?: SourceOptions<T, Tr>,
  ): InputCollection<T, Tr>;
  /** A single value written by hand. A value without a key of its own has the key `static`. */
  cell<T, Tr extends KindCapability = never>(
    initial?: T,
    options?: SourceOptions<T, Tr>,
  ): Cell<T, Tr>;
  /** Something transformations can depend on to be run again when state outside the graph changed. */
  trigger(options?: CollectionOptions & { readonly synced?: boolean }): Trigger;
  /** A mutable value outside the graph that can only be read together with depending on it. */
  external<V>(value: V, options?: CollectionOptions & { readonly synced?: boolean }): External<V>;

  /** At most one output per input. */
  derive<I, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: Transformation<I, O>,
    options?: DeriveOptions<O, Tr>,
  ): Collection<O, Tr>;
  derive<I, O extends Output, F extends DeclaredFetches<I>, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: Transformation<I, O, FetchedBy<F>>,
    options: DeclaredOptions<O, F, Tr>,
  ): Collection<O, Tr>;
  /**
   * At most one output per input, which may depend on outputs of other inputs: the transformation asks for them by their keys. Inputs
   * that depend on each other in a circle fail with `KRT_CYCLE` and have no output, for as long as they do; others are not concerned.
   */
  deriveRecursive<I, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: RecursiveTransformation<I, O>,
    options?: DeriveOptions<O, Tr>,
  ): Collection<O, Tr>;
  /** Any number of outputs per input. */
  deriveMany<I, O, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: ManyTransformation<I, O>,
    options?: DeriveOptions<O, Tr>,
  ): Collection<O, Tr>;
  deriveMany<I, O, F extends DeclaredFetches<I>, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: ManyTransformation<I, O, FetchedBy<F>>,
    options: DeclaredOptions<O, F, Tr>,
  ): Collection<O, Tr>;
  /** At most one output of what it fetches. A value without a key of its own has the key `static`. */
  deriveSingleton<O extends Output, Tr extends KindCapability = never>(
    transformation: SingletonTransformation<O>,
    options?: DeriveOptions<O, Tr>,
  ): Singleton<O, Tr>;
  /** Any number of outputs of what it fetches. */
  deriveManyFrom<O, Tr extends KindCapability = never>(
    transformation: ManyFromTransformation<O>,
    options?: DeriveOptions<O, Tr>,
  ): Collection<O, Tr>;
  /** Like {@link Scope.derive}, with a status per input. */
  deriveWithStatus<I, S, O extends Output, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: (context: TransformationContext, input: I) => WithStatus<S, O>,
    options?: DeriveOptions<O, Tr>,
  ): StatusPair<I, S, O, Tr>;
  /** Like {@link Scope.deriveMany}, with a status per input. */
  deriveManyWithStatus<I, S, O, Tr extends KindCapability = never>(
    input: Collection<I>,
    transformation: (context: TransformationContext, input: I) => WithStatus<S, Iterable<O>>,
    options?: DeriveOptions<O, Tr>,
  ): StatusPair<I, S, O, Tr>;

  /** The union of collections. The kind is that of the first member unless given. */
  join<T, Tr extends KindCapability = never>(
    members: readonly Collection<T, Tr>[],
    options?: JoinOptions<T, Tr>,
  ): Collection<T, Tr>;
  /**
   * The union of the collections in `container`, whose keys name them: in the order of the names the first
   * one that has a key wins, or all versions are merged. Replacing a member by another
   * under the same name shows only the differences, and only when the new one is synced.
   */
  joinNested<T, Tr extends KindCapability = never>(
    container: Collection<Collection<T>>,
    options?: Omit<JoinOptions<T, Tr>, "unchecked">,
  ): Collection<T, Tr>;
  /** A projection laid over a collection, without a copy of it. Must not change keys. */
  view<B, T, Tr extends KindCapability = never>(
    base: Collection<B>,
    project: (object: B) => T,
    options?: ViewOptions<T, Tr>,
  ): Collection<T, Tr>;

  /**
   * The objects of a collection in an order, or the first ones, or a page of them. Lists, iteration, and fetches without filters are in
   * that order; objects that are alike for `compare` stand by their keys. The kind is that of the collection unless given.
   */
  ordered<T, Tr extends KindCapability = never>(
    collection: Collection<T, Tr>,
    compare: (a: T, b: T) => number,
    options?: OrderOptions<T, Tr>,
  ): Collection<T, Tr>;

  /** Values over all objects of a collection, which follow each change at the cost of the change. */
  aggregate<T, A extends Aggregators<T>>(
    collection: Collection<T>,
    values: A,
    options?: CollectionOptions,
  ): Singleton<Aggregate<string, A>>;
  /** Values over the objects of a collection by group. */
  aggregateBy<T, K, A extends Aggregators<T>>(
    collection: Collection<T>,
    grouping: GroupBy<T, K>,
    values: A,
    options?: CollectionOptions,
  ): Collection<Aggregate<K, A>>;

  /** An index of `collection` by the keys that `extract` returns. May be added at any time. Throws `KRT_INDEX_NAME`. */
  index<T, K>(
    collection: Collection<T>,
    extract: (object: T) => IndexKeys<K>,
    options?: IndexOptions<K>,
  ): Index<K, T>;
  /** An index by namespace. */
  namespaceIndex<T>(collection: Collection<T, "namespace">): Index<string, T>;
  /** Has fetches by labels find their matches by the values of these label names. */
  labelIndex<T>(collection: Collection<T, "labels">, names: readonly string[]): void;
  /** Has fetches by selection find their matches by the values of these label names in selectors. */
  selectorIndex<T>(collection: Collection<T, "selector">, names: readonly string[]): void;
}
