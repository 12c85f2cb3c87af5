import type { CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import { forcedBy } from "./join-rule.ts";
import { type CollectionNode, type NodeType, SyncState } from "./node.ts";
import type { MutableEvent, Row } from "./row.ts";
import type { Owner } from "./scope.ts";
import { SortedList } from "./sorted-list.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";

/** The part of an order that is shown. */
interface Window {
  readonly offset: number;
  readonly limit: number;
}

/** An object of the base with its key, by which objects that are alike for the order are distinguished. */
interface Member<T> {
  readonly key: string;
  readonly value: T;
}

/**
 * The objects of another collection in an order, or those from one rank to another.
 *
 * Invariants between turns: `#members[slot]` is the object of the base's row at that slot; `#order` has all of them, but for those that
 * the comparison threw for; `#shown` are those in the window, in their order, and the rows are theirs. `#last` is the last of the
 * order that can be in the window, where the window is full: what comes behind it is not shown. Without a window all of the order is
 * shown, and neither of them is used.
 */
export class OrderedNode<T> extends SteppedNode<T> {
  readonly type: NodeType = "ordered";
  readonly #base: CollectionNode<T>;
  readonly #compare: (a: T, b: T) => number;
  readonly #window: Window | undefined;
  readonly #order: SortedList<Member<T>>;
  readonly #members: (Member<T> | undefined)[] = [];
  #shown: readonly Member<T>[] = [];
  #last: Member<T> | undefined;
  #loaded = false;
  /** Between the first and the last step of a turn the rows are not those of `#shown`. */
  #working = false;

  constructor(
    owner: Owner,
    base: CollectionNode<T>,
    compare: (a: T, b: T) => number,
    window: Window | undefined,
    kind: Kind<T>,
    options: CollectionOptions,
  ) {
    super(owner, "ordered", kind, options, options.metadata ?? base.metadata);
    this.#base = base;
    this.#compare = compare;
    this.#window = window;
    this.#order = new SortedList<Member<T>>((a, b) => this.#compareMembers(a, b));
    this.addEdge(base, "input");
  }

  #compareMembers(a: Member<T>, b: Member<T>): number {
    const by = this.#compare(a.value, b.value);
    if (by < 0 || by > 0) return by;
    return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
  }

  // ---- reading ----

  /** Whether readers see the turn before, whose order is not at hand any more. */
  get #readsFormer(): boolean {
    return this.readsCommitted && (this.#working || this.events.count > 0);
  }

  override rows(): Iterable<Row<T>> {
    return this.#readsFormer || this.#working ? super.rows() : this.#ordered();
  }

  /** Rows in their order, then those that went in the open turn. */
  *#ordered(): IterableIterator<Row<T>> {
    for (const { key } of this.#window === undefined ? this.#order : this.#shown) {
      const row = this.rowAt(key);
      if (row?.value !== undefined) yield row;
    }
    for (let i = 0; i < this.changed.count; i++) {
      const row = this.changed.at(i);
      if (row.value === undefined) yield row;
    }
  }

  override list(): readonly T[] {
    if (!this.#readsFormer) return super.list();
    this.graph.guardRead(this);
    const members: Member<T>[] = [];
    for (const row of super.rows()) {
      const value = this.committedOf(row);
      if (value !== undefined) members.push({ key: row.key, value });
    }
    members.sort((a, b) => this.#compareMembers(a, b));
    return members.map(({ value }) => value);
  }

  // ---- the turn ----

  protected *work(): Generator<void, void> {
    const base = this.#base;
    this.#working = true;
    let count = 0;
    let concerned = !this.#loaded;
    const forced = new Set<string>();
    if (this.#loaded) {
      const { changed, events } = base;
      for (let i = 0; i < events.count; i++) {
        const row = changed.at(i);
        const event = events.at(i);
        if (this.#replace(row, event.new, event)) {
          concerned = true;
          if (isForced(base, event)) forced.add(row.key);
        }
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    } else {
      for (const row of base.rows()) {
        this.#replace(row, base.valueOf(row), undefined);
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    }
    this.#loaded = true;
    if (this.#window !== undefined && concerned) yield* this.#show(this.#window, forced);
    this.#working = false;
    if (base.syncState !== SyncState.unsynced) this.becomeSynced();
  }

  /** Puts an object in the place of the one that its row had. Returns whether the window may be another now. */
  #replace(row: Row<T>, now: T | undefined, event: MutableEvent<T> | undefined): boolean {
    const { slot, key } = row;
    const former = this.#members[slot];
    const member = now === undefined ? undefined : { key, value: now };
    this.#members[slot] = member;
    if (former !== undefined) this.#order.remove(former);
    const placed = member !== undefined && this.#place(member);
    if (this.#window !== undefined) return this.#concerns(former) || this.#concerns(member);
    if (placed) {
      this.#put(key, member.value, event !== undefined && isForced(this.#base, event));
    } else {
      const own = this.rowAt(key);
      if (own !== undefined) this.removeRow(own);
    }
    this.forgetList();
    return false;
  }

  #place(member: Member<T>): boolean {
    try {
      this.#order.add(member);
      return true;
    } catch (error) {
      this.graph.reportCallback("the comparison", this.name, error);
      return false;
    }
  }

  #concerns(member: Member<T> | undefined): boolean {
    if (member === undefined) return false;
    if (this.#last === undefined) return true;
    try {
      return this.#compareMembers(member, this.#last) <= 0;
    } catch {
      return true;
    }
  }

  /** Brings the rows in line with the window. */
  *#show({ offset, limit }: Window, forced: ReadonlySet<string>): Generator<void, void> {
    const shown = this.#order.slice(offset, offset + limit);
    const keys = new Set<string>();
    for (const { key } of shown) keys.add(key);
    let count = 0;
    for (const { key } of this.#shown) {
      const row = keys.has(key) ? undefined : this.rowAt(key);
      if (row !== undefined) this.removeRow(row);
      if (++count % KEYS_PER_YIELD === 0) yield;
    }
    for (const { key, value } of shown) {
      this.#put(key, value, forced.has(key));
      if (++count % KEYS_PER_YIELD === 0) yield;
    }
    this.#shown = shown;
    this.#last = shown.length === limit ? shown[limit - 1] : undefined;
    // What is shown may be the same in another order.
    this.forgetList();
  }

  #put(key: string, value: T, forced: boolean): void {
    const row = this.rowAt(key);
    if (row?.value === undefined) this.addRow(key, row, value, undefined);
    else if (row.value === value) return;
    else if (forced) this.forceRow(row, value);
    else if (!this.equalOrReport(row.value, value)) this.updateRow(row, value);
  }

  protected release(): void {}
}

/** Whether an update is one that changes nothing, which is passed on. */
function isForced<T>(base: CollectionNode<T>, event: MutableEvent<T>): boolean {
  try {
    return forcedBy(base, event) !== undefined;
  } catch {
    return false;
  }
}
