import type { Collection, CollectionOptions } from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Group, Index, IndexKeys } from "../secondary-index.ts";
import { addToBucket, type Bucket, bucketMembers, bucketSize, deleteFromBucket } from "./bucket.ts";
import type { CollectionNode } from "./node.ts";
import type { Query } from "./query.ts";
import type { Row } from "./row.ts";
import type { Owned, Owner } from "./scope.ts";

/** An index whatever its keys are. */
// oxlint-disable-next-line typescript/no-explicit-any -- indexes are invariant in their key, and nodes mix them
export type AnyIndex<T> = IndexStore<any, T>;

/** Distinguishes "had no keys" from "keys did not change" in {@link IndexStore.keysBefore}. */
const NONE: readonly unknown[] = [];

/**
 * A secondary index of one collection.
 *
 * Invariants between two changes of a row:
 * - `#keys[row.slot]` is what the extractor gave for the row's value, as store keys;
 * - the row is in the bucket of each of those keys, and in no other;
 * - `#moved` has, for each row whose keys changed in the open turn, the keys from before the turn. It
 *   serves publication (who depended on the old place) and readers outside of a sliced turn.
 *
 * A store key is the index key itself, or its text where the index was given `toText`.
 */
export class IndexStore<K, T> implements Index<K, T> {
  readonly name: string;
  readonly node: CollectionNode<T>;
  readonly extract: (object: T) => IndexKeys<K>;
  readonly buckets = new Map<unknown, Bucket<Row<T>>>();
  /** Queries anchored here, by store key. Kept by the query registry. */
  readonly queries = new Map<unknown, Bucket<Query<T>>>();
  /**
   * The scopes that asked for the index, first one first. Without any it is dropped, as soon as no
   * query is anchored here.
   */
  readonly owners = new Map<Owner, Owned>();
  readonly #toText: ((key: K) => string) | undefined;
  /** The typed keys behind texts. */
  readonly #typed: Map<string, K> | undefined;
  readonly #keys: unknown[] = [];
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

  toKey(key: K): unknown {
    return this.#toText === undefined ? key : this.#toText(key);
  }

  /** The typed key of a store key. */
  typedKey(key: unknown): K {
    return (this.#typed === undefined ? key : this.#typed.get(key as string)) as K;
  }

  lookup(key: K): readonly T[] {
    return this.node.readIndex(this, this.toKey(key));
  }

  *keys(): IterableIterator<K> {
    for (const key of this.buckets.keys()) yield this.typedKey(key);
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

  rowsAt(key: unknown): Iterable<Row<T>> {
    return bucketMembers(this.buckets.get(key));
  }

  /** Upper bound of the rows under a key or any of a list of keys. */
  countAtAny(wanted: unknown): number {
    if (!Array.isArray(wanted)) return bucketSize(this.buckets.get(wanted));
    return wanted.reduce<number>((sum, key) => sum + bucketSize(this.buckets.get(key)), 0);
  }

  /** Whether a row is under a key or any of a list of keys. */
  has(row: Row<T>, wanted: unknown): boolean {
    const keys = this.#keys[row.slot];
    if (!Array.isArray(wanted)) return hasKey(keys, wanted);
    return wanted.some((key) => hasKey(keys, key));
  }

  /** Store keys of a row as they are now: one key, a list, or `undefined`. */
  keysNow(row: Row<T>): unknown {
    return this.#keys[row.slot];
  }

  /** Store keys of a row as they were before the open turn, for rows that existed then. */
  keysBefore(row: Row<T>): unknown {
    const moved = this.#moved?.get(row);
    return moved === undefined ? this.#keys[row.slot] : moved;
  }

  add(row: Row<T>, value: T): void {
    const keys = this.#extractKeys(value);
    if (keys === undefined) return;
    this.#keys[row.slot] = keys;
    this.#enter(row, keys);
  }

  update(row: Row<T>, value: T): void {
    const former = this.#keys[row.slot];
    const keys = this.#extractKeys(value);
    if (sameKeys(former, keys)) return;
    this.#remember(row, former);
    this.#leave(row, former);
    this.#keys[row.slot] = keys;
    this.#enter(row, keys);
  }

  remove(row: Row<T>): void {
    const former = this.#keys[row.slot];
    this.#remember(row, former);
    this.#leave(row, former);
    this.#keys[row.slot] = undefined;
  }

  /** Rows that left `key` in the open turn. */
  *leftInTurn(key: unknown): IterableIterator<Row<T>> {
    if (this.#moved === undefined) return;
    for (const [row, keys] of this.#moved) {
      if (hasKey(keys, key) && !hasKey(this.#keys[row.slot], key)) yield row;
    }
  }

  /** Forgets the turn. */
  sweep(): void {
    this.#moved = undefined;
  }

  #extractKeys(value: T): unknown {
    let keys: IndexKeys<K>;
    try {
      keys = this.extract(value);
    } catch (error) {
      this.node.graph.reportCallback(`extractor of index ${this.name}`, this.node.name, error);
      return undefined;
    }
    if (keys === undefined) return undefined;
    if (Array.isArray(keys)) {
      if (keys.length === 0) return undefined;
      if (keys.length === 1) return this.#storeKey(keys[0] as K);
      return [...new Set(keys.map((key) => this.#storeKey(key as K)))];
    }
    return this.#storeKey(keys as K);
  }

  #storeKey(key: K): unknown {
    if (this.#toText === undefined) return key;
    const text = this.#toText(key);
    if (this.#typed?.has(text) === false) this.#typed.set(text, key);
    return text;
  }

  #remember(row: Row<T>, keys: unknown): void {
    this.#moved ??= new Map();
    if (!this.#moved.has(row)) this.#moved.set(row, keys ?? NONE);
  }

  #enter(row: Row<T>, keys: unknown): void {
    if (Array.isArray(keys)) for (const key of keys) addToBucket(this.buckets, key, row);
    else if (keys !== undefined) addToBucket(this.buckets, keys, row);
  }

  #leave(row: Row<T>, keys: unknown): void {
    if (Array.isArray(keys)) for (const key of keys) deleteFromBucket(this.buckets, key, row);
    else if (keys !== undefined) deleteFromBucket(this.buckets, keys, row);
  }
}

/** Whether `keys` (none, one or a list) holds `key`. */
export function hasKey(keys: unknown, key: unknown): boolean {
  return Array.isArray(keys) ? keys.includes(key) : keys !== undefined && Object.is(keys, key);
}

function sameKeys(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((key, i) => Object.is(key, b[i]));
}
