import type { Collection, CollectionOptions } from "./collection.ts";

declare const INDEXED: unique symbol;

/** The objects of a collection under another key: each object under none, one or several. */
export interface Index<K, T> {
  readonly name: string;
  /** The objects under `key`. Never tracked: in a transformation use `ctx.fetch` with `byIndex`. */
  lookup(key: K): readonly T[];
  /** The keys that have objects. */
  keys(): IterableIterator<K>;
  /** The groups as a collection, keyed by the text of the index key. */
  asCollection(options?: CollectionOptions): Collection<Group<K, T>>;
  /** Exists in types only. */
  readonly [INDEXED]?: (object: T) => void;
}

/** The objects under one key of an index. */
export interface Group<K, T> {
  readonly key: K;
  readonly objects: readonly T[];
}

/** What an index extracts: no key, one, or several. */
export type IndexKeys<K> = K | readonly K[] | undefined;

/** Options of an index. */
export interface IndexOptions<K> {
  /** Unique within the collection: asking for the same name with the same extractor gives the same index. */
  readonly name?: string;
  /** The text that stands for a key that is not a string, number, boolean or bigint. */
  readonly toText?: (key: K) => string;
}
