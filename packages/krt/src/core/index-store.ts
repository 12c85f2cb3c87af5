import type { Collection, CollectionOptions } from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Group, Index, IndexKeys } from "../secondary-index.ts";
import type { Bucket } from "./bucket.ts";
import { requireText } from "./key-texts.ts";
import { LazyMap } from "./lazy-map.ts";
import type { CollectionNode } from "./node.ts";
import type { Query } from "./query.ts";
import type { Row } from "./row.ts";
import { RowGroups } from "./row-groups.ts";
import type { Owned, Owner } from "./scope.ts";
import { hasKey, sameKeys } from "./store-key.ts";

/** An index with keys of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- indexes are invariant in their key, and nodes mix them
export type AnyIndex<T> = IndexStore<any, T>;

/** Distinguishes "had no keys" from "keys did not change" in {@link IndexStore.keysBefore}. */
const NONE: readonly unknown[] = [];

/**
 * A secondary index of one collection.
 *
 * Invariants between two changes of a row:
 * - `#groups` has the row under the store keys that the extractor gave for its value, and no others;
 * - `#moved` has, for each row whose keys changed in the open turn, the keys from before the turn. It
 *   serves publication (who depended on the old place) and readers outside of a sliced turn.
 *
 * A store key is the index key itself, or its text where the index was given `toText`.
 */
export class IndexStore<K, T> implements Index<K, T> {
  readonly name: string;
  readonly node: CollectionNode<T>;
  readonly extract: (object: T) => IndexKeys<K>;
  readonly #groups = new RowGroups<T>();
  /** Queries anchored here, by store key. Kept by the query registry. */
  readonly queries = new LazyMap<unknown, Bucket<Query<T>>>();
  /**
   * The scopes that asked for the index, first one first. Without any it is dropped, as soon as no
   * query is anchored here.
   */
  readonly owners = new Map<Owner, Owned>();
  readonly #toText: ((key: K) => string) | undefined;
  /** The typed keys behind texts. */
  readonly #typed: Map<string, K> | undefined;
  #moved: Map<Row<T>, unknown> | undefined;

  constructor(
    node: CollectionNode<T>,
    name: string,
    extract: (object: T) => IndexKeys<K>,
    toText: ((key: K) => string) | undefined,
  ) {
    this.node = node;
    this.name = name;
    this.extract = extract;
    this.#toText = toText;
    this.#typed = toText && new Map();
  }

  /** Throws for a key that needs `toText` where there is none. */
  toKey(key: K): unknown {
    if (this.#toText !== undefined) return this.#toText(key);
    requireText(key);
    return key;
  }

  /** The typed key of a store key. */
  typedKey(key: unknown): K {
    return (this.#typed === undefined ? key : this.#typed.get(key as string)) as K;
  }

  lookup(key: K): readonly T[] {
    return this.node.readIndex(this, this.toKey(key));
  }

  *keys(): IterableIterator<K> {
    for (const key of this.#groups.groupKeys()) yield this.typedKey(key);
  }

  asCollection(options: CollectionOptions = {}): Collection<Group<K, T>> {
    const [owner] = this.owners.keys();
    if (owner === undefined) throw new KrtError("KRT_DISPOSED", `index ${this.name} was disposed`);
    return this.node.graph.factories.group(owner, this, options);
  }

  /** Whether an object is, by its value alone, under one of the store keys. */
  holds(value: unknown, wanted: unknown): boolean {
    const keys = this.#extractKeys(value as T);
    if (!Array.isArray(wanted)) return hasKey(keys, wanted);
    return wanted.some((key) => hasKey(keys, key));
  }

  /** Store keys that have rows. */
  groupKeys(): IterableIterator<unknown> {
    return this.#groups.groupKeys();
  }

  rowsAt(key: unknown): readonly Row<T>[] {
    return this.#groups.rowsAt(key);
  }

  /** Upper bound of the rows under a key or any of a list of keys. */
  countAtAny(wanted: unknown): number {
    if (!Array.isArray(wanted)) return this.#groups.countAt(wanted);
    return wanted.reduce<number>((sum, key) => sum + this.#groups.countAt(key), 0);
  }

  /** Whether a row is under a key or any of a list of keys. */
  has(row: Row<T>, wanted: unknown): boolean {
    const keys = this.#groups.keysOf(row);
    if (!Array.isArray(wanted)) return hasKey(keys, wanted);
    return wanted.some((key) => hasKey(keys, key));
  }

  /** Store keys of a row as they are now: one key, a list, or `undefined`. */
  keysNow(row: Row<T>): unknown {
    return this.#groups.keysOf(row);
  }

  /** Store keys of a row as they were before the open turn, for rows that existed then. */
  keysBefore(row: Row<T>): unknown {
    const moved = this.#moved?.get(row);
    return moved === undefined ? this.#groups.keysOf(row) : moved;
  }

  /** A row appeared. An index that was made within the turn may have it already. */
  add(row: Row<T>, value: T): void {
    if (this.#groups.keysOf(row) !== undefined) {
      this.update(row, value);
      return;
    }
    const keys = this.#extractKeys(value);
    if (keys !== undefined) this.#groups.enter(row, keys);
  }

  /** The index is made within a turn: what a row was before it has to be known, too. */
  recall(row: Row<T>, before: T | undefined): void {
    if (before === undefined) return;
    const keys = this.#extractKeys(before);
    if (!sameKeys(keys, this.#groups.keysOf(row))) this.#remember(row, keys);
  }

  update(row: Row<T>, value: T): void {
    const former = this.#groups.keysOf(row);
    const keys = this.#extractKeys(value);
    if (sameKeys(former, keys)) return;
    this.#remember(row, former);
    this.#groups.leave(row);
    this.#groups.enter(row, keys);
  }

  remove(row: Row<T>): void {
    this.#remember(row, this.#groups.keysOf(row));
    this.#groups.leave(row);
  }

  /** Rows that left `key` in the open turn. */
  *leftInTurn(key: unknown): IterableIterator<Row<T>> {
    if (this.#moved === undefined) return;
    for (const [row, keys] of this.#moved) {
      if (hasKey(keys, key) && !hasKey(this.#groups.keysOf(row), key)) yield row;
    }
  }

  /** Forgets the turn. */
  sweep(): void {
    if (this.#moved === undefined) return;
    if (this.#typed !== undefined) {
      for (const keys of this.#moved.values()) {
        for (const key of Array.isArray(keys) ? keys : [keys]) {
          if (this.#groups.countAt(key) === 0) this.#typed.delete(key as string);
        }
      }
    }
    this.#moved = undefined;
  }

  #extractKeys(value: T): unknown {
    try {
      return this.#storeKeys(this.extract(value));
    } catch (error) {
      this.node.graph.reportCallback(`extractor of index ${this.name}`, this.node.name, error);
      return undefined;
    }
  }

  #storeKeys(keys: IndexKeys<K>): unknown {
    if (keys === undefined) return undefined;
    if (Array.isArray(keys)) {
      if (keys.length === 0) return undefined;
      if (keys.length === 1) return this.#storeKey(keys[0] as K);
      return [...new Set(keys.map((key) => this.#storeKey(key as K)))];
    }
    return this.#storeKey(keys as K);
  }

  #storeKey(key: K): unknown {
    if (this.#toText === undefined) {
      requireText(key);
      return key;
    }
    const text = this.#toText(key);
    if (this.#typed?.has(text) === false) this.#typed.set(text, key);
    return text;
  }

  #remember(row: Row<T>, keys: unknown): void {
    this.#moved ??= new Map();
    if (!this.#moved.has(row)) this.#moved.set(row, keys ?? NONE);
  }
}
