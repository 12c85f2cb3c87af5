import type { CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import {
  forcedBy,
  type JoinTarget,
  type Merge,
  mergeInto,
  takeFirst,
  takeUnchecked,
} from "./join-rule.ts";
import { type CollectionNode, type NodeType, SyncState } from "./node.ts";
import type { MutableEvent, Row } from "./row.ts";
import type { Owner } from "./scope.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";

/** How a join treats keys that several members have. */
export type JoinRule<T> =
  /** The first member in the list wins. */
  | { readonly type: "first" }
  /** Members promise to have no key in common; no check is made. */
  | { readonly type: "unchecked" }
  /** All versions are merged, in list order. */
  | { readonly type: "merge"; readonly merge: Merge<T> };

/**
 * The union of a fixed list of collections.
 *
 * Invariant between turns: the rows are what the rule makes of the members' objects. Since a join is
 * processed after all its members, it decides a key from their present state: the order in which
 * their changes are processed does not matter, and a key that changes in several is decided once.
 * `row.owner` is the member whose object is shown (first, unchecked).
 */
export class JoinNode<T> extends SteppedNode<T> {
  readonly type: NodeType = "join";
  readonly members: readonly CollectionNode<T>[];
  readonly #rule: JoinRule<T>;
  #loaded = false;

  constructor(
    owner: Owner,
    members: readonly CollectionNode<T>[],
    rule: JoinRule<T>,
    kind: Kind<T>,
    options: CollectionOptions,
  ) {
    super(owner, "join", kind, options);
    this.members = members;
    this.#rule = rule;
    for (const member of members) this.addEdge(member, "input");
  }

  protected *work(): Generator<void, void> {
    let count = 0;
    for (const member of this.members) {
      if (this.#loaded) {
        const { changed, events } = member;
        for (let i = 0; i < events.count; i++) {
          this.#decide(member, changed.at(i), events.at(i));
          if (++count % KEYS_PER_YIELD === 0) yield;
        }
      } else {
        for (const row of member.rows()) {
          if (member.valueOf(row) !== undefined) this.#decide(member, row, undefined);
          if (++count % KEYS_PER_YIELD === 0) yield;
        }
      }
    }
    this.#loaded = true;
    if (this.members.every((member) => member.syncState !== SyncState.unsynced))
      this.becomeSynced();
  }

  #decide(member: CollectionNode<T>, row: Row<T>, event: MutableEvent<T> | undefined): void {
    try {
      switch (this.#rule.type) {
        case "first":
          return takeFirst(this.target, this.members, row.key, forcedBy(member, event));
        case "unchecked":
          return takeUnchecked(this.target, member, row.key, member.valueOf(row));
        case "merge":
          return mergeInto(this.target, this.members, row.key, this.#rule.merge);
        default:
          return this.#rule satisfies never;
      }
    } catch (error) {
      this.graph.reportCallback(`merging ${row.key}`, this.name, error);
    }
  }

  /** This node as what rules write to. */
  readonly target: JoinTarget<T> = {
    node: this,
    rowAt: (key: string) => this.rowAt(key),
    add: (key, row, value, owner) => void this.addRow(key, row, value, owner),
    update: (row: Row<T>, value: T) => this.updateRow(row, value),
    force: (row: Row<T>, value: T) => this.forceRow(row, value),
    remove: (row: Row<T>) => this.removeRow(row),
  };

  protected release(): void {}
}
