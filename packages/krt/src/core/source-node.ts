import type {
  CollectionLoadOptions,
  CollectionOptions,
  CollectionWriteOptions,
  InputCollection,
} from "../collection.ts";
import { KrtError } from "../errors.ts";
import type { Kind } from "../kind.ts";
import { NameTable } from "./name-table.ts";
import type { NodeType } from "./node.ts";
import type { Row } from "./row.ts";
import { RowNode } from "./row-node.ts";
import type { Owner } from "./scope.ts";

/** So many writes find their rows by key, out of order, before rows are remembered by their names. */
const STRAY_WRITES = 16;

/**
 * A collection that is written from outside. Its writes are what turns begin with.
 *
 * Lists are mostly written in the same order again (a source that is listed anew, all objects updated in
 * turn), so while writes come in the order of the rows the next row is tried first: comparing names
 * is cheaper than putting a key together and looking it up. A collection that is written in another order remembers its rows
 * by their names instead, once it has been for a while.
 *
 * Invariant: `#bySlot[slot]` is a row that was once at that slot, and `#byName` has rows that once were under these names. One
 * that has a value still is there: a row that left the map never gets a value again.
 */
export class SourceNode<T> extends RowNode<T> implements InputCollection<T> {
  readonly type: NodeType;
  readonly #bySlot: Row<T>[] = [];
  /** Slot of the last write, and whether it was the one behind the write before. */
  #lastSlot = -2;
  #inOrder = false;
  /** Writes that found their rows by key, out of order. */
  #strays = 0;
  #byName: NameTable<T> | undefined;

  constructor(owner: Owner, kind: Kind<T>, options: CollectionOptions, type: NodeType = "source") {
    super(owner, type, kind, options);
    this.type = type;
  }

  /** The initial objects, as part of coming into the graph. */
  begin(objects: Iterable<T>, synced: boolean): void {
    for (const object of objects) {
      const key = this.keyOf(object);
      const row = this.addFirst(key, object);
      if (row === undefined) throw this.#duplicate(key);
      this.#wrote(row);
    }
    this.graph.turn.enqueue(this);
    if (synced) this.becomeSynced();
  }

  set(object: T, options?: CollectionWriteOptions): void {
    const { graph } = this;
    graph.guardSource(this);
    if (graph.writes.defers) {
      graph.writes.change(this, () => void this.put(object, options?.force === true));
      return;
    }
    graph.writes.begin();
    try {
      this.put(object, options?.force === true);
    } finally {
      graph.writes.end();
    }
  }

  delete(key: string): void {
    this.graph.writes.change(this, () => this.remove(key));
  }

  deleteWhere(predicate: (object: T) => boolean): void {
    this.graph.writes.change(this, () => {
      const doomed: Row<T>[] = [];
      for (const row of this.rows()) {
        if (row.value !== undefined && predicate(row.value)) doomed.push(row);
      }
      for (const row of doomed) this.#remove(row);
    });
  }

  reset(objects: Iterable<T>): void {
    const wanted = this.#keyed(objects);
    this.graph.writes.change(this, () => {
      for (const row of this.rows()) {
        if (row.value !== undefined && !wanted.has(row.key)) this.#remove(row);
      }
      for (const object of wanted.values()) this.put(object, false);
    });
  }

  async load(
    objects: Iterable<T> | AsyncIterable<T>,
    options: CollectionLoadOptions = {},
  ): Promise<void> {
    const { signal } = options;
    const list = Symbol.asyncIterator in objects ? await collect(objects, signal) : objects;
    signal?.throwIfAborted();
    await this.graph.writes.sliced(this.#feeder(list, options));
  }

  /** Writes a bit of the load at each call. What is to go goes last, so that a failed load deletes nothing. */
  #feeder(objects: Iterable<T>, { replace, signal }: CollectionLoadOptions): () => boolean {
    const { graph } = this;
    const iterator = objects[Symbol.iterator]();
    const seen = new Set<string>();
    let left: Iterator<Row<T>> | undefined;
    return () => {
      signal?.throwIfAborted();
      for (let i = 1; left === undefined; i++) {
        const next = iterator.next();
        if (next.done === true) {
          if (replace !== true) return true;
          left = this.rows()[Symbol.iterator]();
          break;
        }
        const { key } = this.put(next.value, false);
        if (seen.has(key)) throw this.#duplicate(key);
        seen.add(key);
        if (i % 64 === 0 && graph.turn.outOfTime()) return false;
      }
      for (let i = 1; ; i++) {
        const next = left.next();
        if (next.done === true) return true;
        if (!seen.has(next.value.key)) this.#remove(next.value);
        if (i % 64 === 0 && graph.turn.outOfTime()) return false;
      }
    };
  }

  markSynced(): void {
    this.syncByWrite();
  }

  /** Writes one object within an open batch. An object equal to the present one leaves it in place. */
  put(object: T, force: boolean): Row<T> {
    const next = (this.#inOrder ? this.#nextRow(object) : undefined) ?? this.#byName?.find(object);
    if (next !== undefined) {
      this.#wrote(next);
      if (this.graph.writes.recordsUndo) this.#recordUndo(next.key, next);
      return this.#update(next, object, force);
    }
    const key = this.keyOf(object);
    const row = this.rowAt(key);
    if (this.graph.writes.recordsUndo) this.#recordUndo(key, row);
    if (row?.value === undefined) {
      const added = this.addRow(key, row, object, undefined);
      this.graph.turn.enqueue(this);
      this.#wrote(added);
      return added;
    }
    this.#wrote(row);
    if (!this.#inOrder) this.#stray(object, row);
    return this.#update(row, object, force);
  }

  /** A row was found by its key, out of order. */
  #stray(object: T, row: Row<T>): void {
    if (!this.kind.keyIsName || this.#strays++ < STRAY_WRITES) return;
    this.#byName ??= NameTable.of(this.kind);
    this.#byName?.remember(object, row, this.count(false));
  }

  #update(row: Row<T>, object: T, force: boolean): Row<T> {
    if (force) this.forceRow(row, object);
    else if (this.comparer.equal(row.value as T, object)) return row;
    else this.updateRow(row, object);
    this.graph.turn.enqueue(this);
    return row;
  }

  /** The row behind the one written last, if the object is a version of what it has. */
  #nextRow(object: T): Row<T> | undefined {
    const next = this.#bySlot[this.#lastSlot + 1];
    if (next?.value === undefined) return undefined;
    return this.kind.sameKey?.(next.value, object) === true ? next : undefined;
  }

  #wrote(row: Row<T>): void {
    const { slot } = row;
    this.#inOrder = slot === this.#lastSlot + 1;
    this.#lastSlot = slot;
    // Never with holes, which would turn the array into a table.
    if (slot <= this.#bySlot.length) this.#bySlot[slot] = row;
  }

  /** Removes one object within an open batch. */
  remove(key: string): void {
    const row = this.rowAt(key);
    if (row !== undefined) this.#remove(row);
  }

  #remove(row: Row<T>): void {
    if (row.value === undefined) return;
    if (this.graph.writes.recordsUndo) this.#recordUndo(row.key, row);
    this.removeRow(row);
    this.graph.turn.enqueue(this);
  }

  #recordUndo(key: string, row: Row<T> | undefined): void {
    const value = row?.value;
    const forced = row !== undefined && this.isForced(row);
    this.graph.writes.recordUndo(() => this.restoreRow(key, value, forced));
  }

  /** The key of an object. Throws `KRT_EMPTY_KEY` and any error of the kind. */
  protected keyOf(object: T): string {
    const key = this.kind.key(object);
    if (key !== "") return key;
    throw new KrtError("KRT_EMPTY_KEY", `an object for ${this.name} has an empty key`, {
      details: { collection: this.name },
    });
  }

  #keyed(objects: Iterable<T>): Map<string, T> {
    const wanted = new Map<string, T>();
    for (const object of objects) {
      const key = this.keyOf(object);
      if (wanted.has(key)) throw this.#duplicate(key);
      wanted.set(key, object);
    }
    return wanted;
  }

  #duplicate(key: string): KrtError {
    return new KrtError(
      "KRT_DUPLICATE_KEY",
      `${this.name} was given the key ${key} twice at once`,
      {
        details: { collection: this.name, key },
      },
    );
  }

  protected compute(): boolean {
    return true;
  }

  protected release(): void {}
}

async function collect<T>(
  objects: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): Promise<T[]> {
  const list: T[] = [];
  for await (const object of objects) {
    signal?.throwIfAborted();
    list.push(object);
  }
  return list;
}
