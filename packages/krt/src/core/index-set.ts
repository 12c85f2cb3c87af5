import { KrtError } from "../errors.ts";
import type { IndexKeys, IndexOptions } from "../secondary-index.ts";
import { type AnyIndex, IndexStore } from "./index-store.ts";
import type { CollectionNode } from "./node.ts";
import type { Row } from "./row.ts";
import type { Owner } from "./scope.ts";

/**
 * The indexes of one collection.
 *
 * Invariants: names are unique; an index is here while a scope that asked for it lives, or a query is
 * anchored at it.
 */
export class IndexSet<T> {
  readonly #node: CollectionNode<T>;
  readonly #stores: AnyIndex<T>[] = [];
  #number = 0;

  constructor(node: CollectionNode<T>) {
    this.#node = node;
  }

  get size(): number {
    return this.#stores.length;
  }

  [Symbol.iterator](): Iterator<AnyIndex<T>> {
    return this.#stores[Symbol.iterator]();
  }

  /** The index of this name, made where there is none yet. It lives as long as a scope that asked for it. */
  add<K>(
    owner: Owner,
    extract: (object: T) => IndexKeys<K>,
    options: IndexOptions<K>,
  ): IndexStore<K, T> {
    const node = this.#node;
    if (node.type === "group") {
      throw new KrtError(
        "KRT_INDEX_UNSUPPORTED",
        `${node.name} holds the groups of an index and cannot be indexed itself`,
        { details: { collection: node.name } },
      );
    }
    const name = options.name ?? `index-${++this.#number}`;
    const existing = this.#stores.find((index) => index.name === name);
    if (existing !== undefined) {
      if (existing.extract === extract) return this.hold(owner, existing);
      throw new KrtError(
        "KRT_INDEX_NAME",
        `collection ${node.name} has an index ${name} with another extractor`,
        { details: { collection: node.name } },
      );
    }
    const store = new IndexStore(node, name, extract, options.toText);
    const { turn, writes } = node.graph;
    const inTurn = turn.paused || turn.isPropagating || writes.isWriting;
    for (const row of node.rows()) {
      const value = node.valueOf(row);
      if (value !== undefined) store.add(row, value);
      if (inTurn) store.recall(row, node.committedOf(row));
    }
    this.#stores.push(store);
    return this.hold(owner, store);
  }

  /** Keeps an index for as long as `owner` and the collection live. */
  hold<K>(owner: Owner, store: IndexStore<K, T>): IndexStore<K, T> {
    if (store.owners.has(owner)) return store;
    const held = {
      dispose: () => {
        store.owners.delete(owner);
        this.dropUnused(store);
      },
    };
    store.owners.set(owner, held);
    owner.add(held);
    return store;
  }

  /** Drops an index that no scope and no query needs. */
  dropUnused(store: AnyIndex<T>): void {
    if (store.owners.size > 0 || store.queries.size > 0) return;
    const at = this.#stores.indexOf(store);
    if (at < 0) return;
    this.#stores.splice(at, 1);
    this.#node.queries.dropLabelIndex(store);
  }

  // ---- upkeep; loops by number, as they are in the path of every change ----

  addRow(row: Row<T>, value: T): void {
    const stores = this.#stores;
    for (let i = 0; i < stores.length; i++) (stores[i] as AnyIndex<T>).add(row, value);
  }

  updateRow(row: Row<T>, value: T): void {
    const stores = this.#stores;
    for (let i = 0; i < stores.length; i++) (stores[i] as AnyIndex<T>).update(row, value);
  }

  removeRow(row: Row<T>): void {
    const stores = this.#stores;
    for (let i = 0; i < stores.length; i++) (stores[i] as AnyIndex<T>).remove(row);
  }

  sweep(): void {
    const stores = this.#stores;
    for (let i = 0; i < stores.length; i++) (stores[i] as AnyIndex<T>).sweep();
  }

  /** The collection ends: scopes need not remember its indexes any more. */
  release(): void {
    for (const store of this.#stores) {
      for (const [owner, held] of store.owners) owner.remove(held);
    }
  }
}
