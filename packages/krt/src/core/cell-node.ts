import type { Cell, CollectionOptions, CollectionWriteOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import type { NodeType } from "./node.ts";
import type { Row } from "./row.ts";
import { RowNode } from "./row-node.ts";
import type { Owner } from "./scope.ts";

/** A singleton that is written from outside. */
export class CellNode<T> extends RowNode<T> implements Cell<T> {
  readonly type: NodeType = "cell";

  constructor(owner: Owner, kind: Kind<T>, options: CollectionOptions) {
    super(owner, "cell", kind, options);
  }

  /** The initial value, as part of coming into the graph. */
  init(value: T | undefined, synced: boolean): void {
    this.#put(value, false);
    if (synced) this.becomeSynced();
  }

  get value(): T | undefined {
    return this.list()[0];
  }

  set(value: T | undefined, options?: CollectionWriteOptions): void {
    this.graph.writes.change(this, () => this.#put(value, options?.force === true));
  }

  update(change: (value: T | undefined) => T | undefined): void {
    this.graph.writes.change(this, () => this.#put(change(this.#row()?.value), false));
  }

  markSynced(): void {
    this.syncByWrite();
  }

  #row(): Row<T> | undefined {
    for (const row of this.rows()) if (row.value !== undefined) return row;
    return undefined;
  }

  #put(value: T | undefined, force: boolean): void {
    const row = this.#row();
    const old = row?.value;
    const key = value === undefined || value === null ? undefined : this.kind.key(value);
    if (this.graph.writes.recordsUndo) this.#recordUndo(row);
    if (row !== undefined && row.key === key && value !== undefined) {
      if (force) this.forceRow(row, value);
      else if (old !== undefined && this.comparer.equal(old, value)) return;
      else this.updateRow(row, value);
    } else {
      if (row !== undefined) this.removeRow(row);
      if (value !== undefined && key !== undefined)
        this.addRow(key, this.rowAt(key), value, undefined);
    }
    this.graph.turn.enqueue(this);
  }

  #recordUndo(row: Row<T> | undefined): void {
    const value = row?.value;
    const forced = row !== undefined && this.isForced(row);
    this.graph.writes.recordUndo(() => {
      const now = this.#row();
      if (now !== undefined && now !== row) this.restoreRow(now.key, undefined, false);
      if (row !== undefined) this.restoreRow(row.key, value, forced);
    });
  }

  protected compute(): boolean {
    return true;
  }

  protected release(): void {}
}
