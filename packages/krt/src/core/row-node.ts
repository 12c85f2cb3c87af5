import type { CollectionMetadata, CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import { CollectionNode, type NodeType, SyncState } from "./node.ts";
import { eventType, Row } from "./row.ts";
import type { Owner } from "./scope.ts";

/** How many rows without a value are kept at least and at most, and an eighth of all rows in between. */
const MIN_LEFT = 64;
const MAX_LEFT = 4096;

/**
 * A node with rows of its own.
 *
 * Invariants:
 * - `#rows` has every row with a value, and tombstones: those of the open turn, and for a while those
 *   of former turns, which `#left` lists. `#live` counts the rows with a value.
 * - A row has an event exactly when it is in `changed`, and the event's `old` is its committed value.
 * - Every change goes through `addRow`, `updateRow`, `removeRow`, which keep the indexes.
 */
export abstract class RowNode<T> extends CollectionNode<T> {
  readonly #rows = new Map<string, Row<T>>();
  #live = 0;
  /** Objects at the last commit, while a turn is open. */
  #liveBefore = 0;
  #slots = 0;
  readonly #freeSlots: number[] = [];
  /** Rows without a value that are still in the map, or that have been; see {@link #forget}. */
  #left: Row<T>[] = [];
  /** Whether a row changed twice in this turn, so that events may have to go. */
  #rewritten = false;
  /** Rows whose update is to be emitted even if it changes nothing. */
  #forced: Set<Row<T>> | undefined;

  constructor(
    owner: Owner,
    type: NodeType,
    kind: Kind<T>,
    options: CollectionOptions,
    metadata?: CollectionMetadata,
  ) {
    super(owner, type, kind, options, metadata ?? options.metadata);
  }

  rowAt(key: string): Row<T> | undefined {
    return this.#rows.get(key);
  }

  rows(): Iterable<Row<T>> {
    return this.#rows.values();
  }

  valueOf(row: Row<T>): T | undefined {
    return row.value;
  }

  committedOf(row: Row<T>): T | undefined {
    return row.event === undefined ? row.value : row.event.old;
  }

  count(committed: boolean): number {
    return committed && this.events.count > 0 ? this.#liveBefore : this.#live;
  }

  /**
   * Adds an object under a key that has none now. `known` is the result of `rowAt` for the key, which
   * every caller has at hand.
   */
  protected addRow(key: string, known: Row<T> | undefined, value: T, owner: unknown): Row<T> {
    let row = known;
    if (row === undefined) {
      row = new Row(key, this.#freeSlots.pop() ?? this.#slots++, value, owner);
      this.#rows.set(key, row);
    } else {
      row.value = value;
      row.owner = owner;
    }
    this.#record(row, undefined, value);
    this.#live++;
    this.indexes.addRow(row, value);
    return row;
  }

  /**
   * Adds an object to a collection that has had nothing but such additions. `undefined` where the key is
   * there already; the collection is then of no more use.
   */
  protected addFirst(key: string, value: T): Row<T> | undefined {
    const before = this.#rows.size;
    const row = this.addRow(key, undefined, value, undefined);
    return this.#rows.size === before ? undefined : row;
  }

  protected updateRow(row: Row<T>, value: T): void {
    const old = row.value;
    row.value = value;
    this.#record(row, old, value);
    this.indexes.updateRow(row, value);
  }

  /** An update that is emitted even where it changes nothing, and stays so when it is repeated. */
  protected forceRow(row: Row<T>, value: T): void {
    this.#forced ??= new Set();
    this.#forced.add(row);
    this.updateRow(row, value);
  }

  /** Whether an update of the row is emitted even if it changes nothing. */
  protected isForced(row: Row<T>): boolean {
    return this.#forced?.has(row) === true;
  }

  /** Takes a write of the open batch back: the object that was there before, though it may be equal. */
  protected restoreRow(key: string, value: T | undefined, forced: boolean): void {
    const row = this.rowAt(key);
    if (row !== undefined && !forced) this.#forced?.delete(row);
    if (row?.value === value) return;
    if (value === undefined) {
      if (row !== undefined) this.removeRow(row);
    } else if (row?.value === undefined) {
      this.addRow(key, row, value, undefined);
    } else {
      this.updateRow(row, value);
    }
  }

  /** Makes the node synced by a write, which a transaction that fails takes back. */
  protected syncByWrite(): void {
    if (this.synced || this.disposed) return;
    const { writes, turn } = this.graph;
    writes.change(this, () => {
      if (this.syncState === SyncState.unsynced) {
        writes.recordUndo(() => {
          this.syncState = SyncState.unsynced;
        });
      }
      this.becomeSynced();
      turn.enqueue(this);
    });
  }

  protected removeRow(row: Row<T>): void {
    const old = row.value;
    if (old === undefined) return;
    row.value = undefined;
    row.owner = undefined;
    this.#record(row, old, undefined);
    this.#live--;
    this.indexes.removeRow(row);
  }

  #record(row: Row<T>, old: T | undefined, now: T | undefined): void {
    const { event } = row;
    if (this.strict !== undefined && now !== undefined) this.strict.stored(now);
    if (event === undefined) {
      if (this.changed.count === 0) {
        this.#liveBefore = this.#live;
        this.touch();
      }
      const first = { type: eventType(old, now), key: row.key, old, new: now };
      row.event = first;
      this.changed.push(row);
      this.events.push(first);
      return;
    }
    event.new = now;
    event.type = eventType(event.old, now);
    this.#rewritten = true;
  }

  protected override compact(): void {
    if (!this.#rewritten) return;
    this.#rewritten = false;
    const { changed, events } = this;
    let kept = 0;
    for (let i = 0; i < changed.count; i++) {
      const row = changed.at(i);
      const event = events.at(i);
      if (this.#isVoid(row)) {
        row.event = undefined;
        if (event.old === undefined) this.#forget(row);
        else row.value = event.old;
        continue;
      }
      changed.replace(kept, row);
      events.replace(kept, event);
      kept++;
    }
    changed.truncate(kept);
    events.truncate(kept);
  }

  #isVoid(row: Row<T>): boolean {
    const { event } = row;
    if (event === undefined || event.type === "void") return true;
    if (event.old === undefined || event.new === undefined) return false;
    return this.#forced?.has(row) !== true && this.equalOrReport(event.old, event.new);
  }

  /** In the middle of a turn an equality that throws must not end it: the change then counts. */
  protected equalOrReport(old: T, now: T): boolean {
    try {
      return this.comparer.equal(old, now);
    } catch (error) {
      this.graph.reportCallback("the equality", this.name, error);
      return false;
    }
  }

  override undoTurn(): void {
    for (let i = 0; i < this.changed.count; i++) {
      const row = this.changed.at(i);
      const { event } = row;
      if (event === undefined) continue;
      if (event.old === undefined) this.removeRow(row);
      else if (row.value === undefined) this.addRow(row.key, row, event.old, row.owner);
      else this.updateRow(row, event.old);
    }
    this.#forced = undefined;
  }

  protected sweepRow(row: Row<T>): void {
    row.event = undefined;
    if (row.value === undefined) this.#forget(row);
  }

  /**
   * Lets a row without a value go, later and together with others. The maps of V8 keep a deleted entry in
   * its hash chain until they grow or are rebuilt, so that a key which comes and goes would make a chain
   * as long as the map, and each look-up of it O(size). A row that comes back in time is simply used again.
   */
  #forget(row: Row<T>): void {
    this.#left.push(row);
    const limit = Math.min(MAX_LEFT, Math.max(MIN_LEFT, this.#rows.size >> 3));
    if (this.#left.length <= limit) return;
    const gone = Array.from(new Set(this.#left)).filter((one) => one.value === undefined);
    if (gone.length <= limit >> 1) {
      this.#left = gone;
      return;
    }
    this.#left = [];
    for (const one of gone) {
      // A change of the open turn needs its row until the sweep, which brings it here again.
      if (one.event !== undefined) continue;
      this.#rows.delete(one.key);
      this.#freeSlots.push(one.slot);
    }
  }

  override commit(): void {
    this.#forced = undefined;
    super.commit();
  }
}
