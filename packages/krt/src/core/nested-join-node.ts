import type { Collection, CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import { forcedBy, type JoinTarget, type Merge, mergeInto, takeFirst } from "./join-rule.ts";
import { type CollectionNode, type NodeType, SyncState } from "./node.ts";
import type { Row } from "./row.ts";
import type { Owner } from "./scope.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";
import { nodeOf } from "./tracker.ts";

/**
 * A member of the container. `active` is the node whose objects count; `next`, where present, replaces it
 * as soon as it is synced, in one turn. Both are read (have an edge).
 */
interface Member<T> {
  active: CollectionNode<T> | undefined;
  next: CollectionNode<T> | undefined;
  /** The objects of `active` are in the join's rows. */
  loaded: boolean;
}

/**
 * The union of the collections in a collection, the container.
 *
 * Invariants between turns: `#members` has one entry per object of the container; the rows are what the
 * rule makes of the objects of all active members, in the order of their names. The container's keys are
 * the names: another collection under the same name takes the place of the former, and keys that both
 * have with equal objects do not change.
 */
export class NestedJoinNode<T> extends SteppedNode<T> {
  readonly type: NodeType = "nested-join";
  readonly #container: CollectionNode<Collection<T>>;
  readonly #merge: Merge<T> | undefined;
  readonly #members = new Map<string, Member<T>>();
  #loaded = false;
  #active: CollectionNode<T>[] | undefined;

  constructor(
    owner: Owner,
    container: CollectionNode<Collection<T>>,
    merge: Merge<T> | undefined,
    kind: Kind<T>,
    options: CollectionOptions,
  ) {
    super(owner, "nested-join", kind, options);
    this.#container = container;
    this.#merge = merge;
    this.addEdge(container, "input");
  }

  /** The collections whose objects count, in the order of their names. */
  members(): readonly CollectionNode<T>[] {
    this.#active ??= Array.from(this.#members)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, member]) => member.active)
      .filter((node) => node !== undefined);
    return this.#active;
  }

  protected *work(): Generator<void, void> {
    yield* this.#followContainer();
    for (const member of this.#members.values()) {
      if (member.next !== undefined) yield* this.#activate(member);
      if (!member.loaded || (member.active?.events.count ?? 0) > 0) yield* this.#takeIn(member);
    }
    if (this.#container.syncState === SyncState.unsynced) return;
    const waits = [...this.#members.values()].some((member) => member.active === undefined);
    if (!waits) this.becomeSynced();
  }

  /** Brings the list of members up to date. A level that rises here is met by the yields. */
  *#followContainer(): Generator<void, void> {
    const container = this.#container;
    if (!this.#loaded) {
      this.#loaded = true;
      for (const row of container.rows()) {
        const value = container.valueOf(row);
        if (value !== undefined) this.#propose(row.key, value);
      }
      yield;
      return;
    }
    const { events } = container;
    for (let i = 0; i < events.count; i++) {
      const event = events.at(i);
      if (event.new === undefined) yield* this.#remove(event.key);
      else this.#propose(event.key, event.new);
    }
    yield;
  }

  #propose(key: string, collection: Collection<T>): void {
    const node = nodeOf(collection) as CollectionNode<T>;
    let member = this.#members.get(key);
    if (member === undefined) {
      this.#members.set(key, (member = { active: undefined, next: undefined, loaded: false }));
    }
    if (member.next === node || (member.next === undefined && member.active === node)) return;
    try {
      this.addEdge(node, "input");
    } catch (error) {
      this.graph.reportCallback(`member ${key}`, this.name, error);
      return;
    }
    if (member.next !== undefined) this.removeEdge(member.next, "input");
    member.next = node;
  }

  *#remove(key: string): Generator<void, void> {
    const member = this.#members.get(key);
    if (member === undefined) return;
    this.#members.delete(key);
    this.#active = undefined;
    if (member.next !== undefined) this.removeEdge(member.next, "input");
    if (member.active === undefined) return;
    this.removeEdge(member.active, "input");
    if (member.loaded) yield* this.#decideKeysOf(member.active);
  }

  /** Puts a synced successor in the place of the active node. */
  *#activate(member: Member<T>): Generator<void, void> {
    const { active, next } = member;
    if (next === undefined || (next.syncState === SyncState.unsynced && !next.disposed)) return;
    this.#active = undefined;
    member.active = next;
    member.next = undefined;
    member.loaded = false;
    if (active === undefined) return;
    this.removeEdge(active, "input");
    yield* this.#decideKeysOf(active);
  }

  *#takeIn(member: Member<T>): Generator<void, void> {
    const { active } = member;
    if (active === undefined) return;
    if (!member.loaded) {
      yield* this.#decideKeysOf(active);
      member.loaded = true;
      return;
    }
    const { events } = active;
    for (let i = 0; i < events.count; i++) {
      const event = events.at(i);
      this.#decide(event.key, forcedBy(active, event));
      if ((i + 1) % KEYS_PER_YIELD === 0) yield;
    }
  }

  /** All keys the node has, or had before this turn. */
  *#decideKeysOf(node: CollectionNode<T>): Generator<void, void> {
    let count = 0;
    for (const row of node.rows()) {
      this.#decide(row.key, undefined);
      if (++count % KEYS_PER_YIELD === 0) yield;
    }
  }

  #decide(key: string, forced: CollectionNode<T> | undefined): void {
    const members = this.members();
    try {
      if (this.#merge === undefined) takeFirst(this.#target, members, key, forced);
      else mergeInto(this.#target, members, key, this.#merge);
    } catch (error) {
      this.graph.reportCallback(`merging ${key}`, this.name, error);
    }
  }

  readonly #target: JoinTarget<T> = {
    node: this,
    rowAt: (key: string) => this.rowAt(key),
    add: (key, row, value, owner) => void this.addRow(key, row, value, owner),
    update: (row: Row<T>, value: T) => this.updateRow(row, value),
    force: (row: Row<T>, value: T) => this.forceRow(row, value),
    remove: (row: Row<T>) => this.removeRow(row),
  };

  protected release(): void {
    this.#members.clear();
  }
}
