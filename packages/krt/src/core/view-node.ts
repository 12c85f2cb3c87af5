import type { CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import { type AnyNode, CollectionNode, type NodeType, SyncState } from "./node.ts";
import { eventType, type Row } from "./row.ts";
import type { Owner } from "./scope.ts";

/**
 * A projection laid over another collection. It has no rows: it shows those of its base, with other
 * values under the same keys.
 *
 * Invariants:
 * - `#shown[slot]` is the projection of `#of[slot]`, or of an earlier value with an equal projection.
 *   It is what readers get as long as `#of[slot]` is the base's value; else it is computed again.
 * - Changes whose projections are equal are ignored. Projections are only compared while there are
 *   consumers: without subscriptions, queries, readers and indexes a change costs nothing but the lookup.
 */
export class ViewNode<B, T> extends CollectionNode<T> {
  readonly type: NodeType = "view";
  readonly #base: CollectionNode<B>;
  readonly #project: (object: B) => T;
  readonly #of: (B | undefined)[] = [];
  readonly #shown: (T | undefined)[] = [];
  #next = 0;
  /** After disposal: the base continues, the view keeps its last state. Indexes still name rows of the base. */
  #kept: Map<string, Row<T>> | undefined;

  constructor(
    owner: Owner,
    base: CollectionNode<B>,
    project: (object: B) => T,
    kind: Kind<T>,
    options: CollectionOptions,
  ) {
    super(owner, "view", kind, options, options.metadata ?? base.metadata);
    this.#base = base;
    this.#project = project;
    this.addEdge(base, "input");
  }

  rowAt(key: string): Row<T> | undefined {
    if (this.#kept !== undefined) return this.#kept.get(key);
    return this.#base.rowAt(key) as Row<unknown> | undefined as Row<T> | undefined;
  }

  rows(): Iterable<Row<T>> {
    return this.#kept?.values() ?? (this.#base.rows() as Iterable<unknown> as Iterable<Row<T>>);
  }

  valueOf(row: Row<T>): T | undefined {
    if (this.#kept !== undefined) return this.#kept.get(row.key)?.value;
    const value = this.#base.valueOf(row as Row<unknown> as Row<B>);
    return value === undefined ? undefined : this.#shownAs(row, value);
  }

  override isPresent(row: Row<T>): boolean {
    if (this.#kept !== undefined) return this.#kept.has(row.key);
    return this.#base.isPresent(row as Row<unknown> as Row<B>);
  }

  committedOf(row: Row<T>): T | undefined {
    if (this.#kept !== undefined) return this.#kept.get(row.key)?.value;
    const value = this.#base.committedOf(row as Row<unknown> as Row<B>);
    if (value === undefined) return undefined;
    return this.#of[row.slot] === value ? this.#shown[row.slot] : this.#project(value);
  }

  count(committed: boolean): number {
    return this.#kept?.size ?? this.#base.count(committed);
  }

  #shownAs(row: Row<T>, value: B): T {
    const { slot } = row;
    if (this.#of[slot] === value) return this.#shown[slot] as T;
    const shown = this.#make(row.key, value);
    this.#of[slot] = value;
    this.#shown[slot] = shown;
    return shown;
  }

  #make(key: string, value: B): T {
    const shown = this.#project(value);
    this.graph.options.strict?.checkViewKey(this as AnyNode, key, shown);
    return shown;
  }

  /** In an open batch the base shows what was written already; the view, like all that is derived, does not. */
  protected override get readsCommitted(): boolean {
    return this.graph.turn.paused || this.graph.writes.isWriting;
  }

  get #observed(): boolean {
    return (
      this.subscribers.members.length > 0 ||
      this.queries.size > 0 ||
      this.readers.length > 0 ||
      this.indexes.size > 0
    );
  }

  protected compute(): boolean {
    const { changed, events } = this.#base;
    if (this.#observed) {
      while (this.#next < events.count) {
        const i = this.#next++;
        const event = events.at(i);
        const row = changed.at(i) as Row<unknown> as Row<T>;
        try {
          this.#takeIn(row, event.old, event.new);
        } catch (error) {
          this.graph.reportCallback("the projection", this.name, error);
        }
        if ((this.#next & 63) === 0 && this.graph.turn.outOfTime()) return false;
      }
      this.#next = 0;
    } else if (events.count > 0) {
      this.forgetList();
    }
    if (this.#base.syncState !== SyncState.unsynced) this.becomeSynced();
    return true;
  }

  #takeIn(row: Row<T>, old: B | undefined, now: B | undefined): void {
    const { slot } = row;
    const before =
      old === undefined
        ? undefined
        : this.#of[slot] === old
          ? this.#shown[slot]
          : this.#project(old);
    const after = now === undefined ? undefined : this.#make(row.key, now);
    if (before !== undefined && after !== undefined && this.comparer.equal(before, after)) {
      this.#of[slot] = now;
      this.#shown[slot] = before;
      return;
    }
    this.#of[slot] = now;
    this.#shown[slot] = after;
    this.changed.push(row);
    this.events.push({ type: eventType(before, after), key: row.key, old: before, new: after });
    if (before === undefined && after !== undefined) this.indexes.addRow(row, after);
    else if (after === undefined) this.indexes.removeRow(row);
    else this.indexes.updateRow(row, after);
  }

  /** The rows are the base's, and are swept by it. */
  protected sweepRow(): void {}

  protected release(): void {
    const kept = new Map<string, Row<T>>();
    for (const row of this.rows()) {
      const value = this.valueOf(row);
      if (value === undefined) continue;
      const own = { key: row.key, slot: row.slot, value, event: undefined, owner: undefined };
      kept.set(row.key, own);
    }
    this.#kept = kept;
  }
}
