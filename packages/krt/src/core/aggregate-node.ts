import type { Aggregate, AggregateValues, Aggregators, GroupBy } from "../aggregate.ts";
import type { CollectionOptions, Singleton } from "../collection.ts";
import { deepEqual } from "../equality.ts";
import { type Kind, SINGLETON_KEY } from "../kind.ts";
import { type CollectionNode, type NodeType, SyncState } from "./node.ts";
import type { Owner } from "./scope.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";

/** The running states of one group. */
interface GroupState<K> {
  readonly key: K;
  size: number;
  readonly states: unknown[];
}

/**
 * Values over the objects of a collection, per group, that follow each change of it.
 *
 * Invariants between turns: `#groups` has exactly the groups that objects are in, with the states over
 * these objects; `#placed[slot]` are the group texts under which the object of that row was added,
 * which is where it will be removed from, whatever the functions say then. The rows are the values.
 */
export class AggregateNode<T, K, A extends Aggregators<T>>
  extends SteppedNode<Aggregate<K, A>>
  implements Singleton<Aggregate<K, A>>
{
  readonly type: NodeType = "aggregate";
  readonly #base: CollectionNode<T>;
  readonly #names: readonly (string & keyof A)[];
  readonly #aggregators: A;
  readonly #grouping: GroupBy<T, K> | undefined;
  readonly #groups = new Map<string, GroupState<K>>();
  readonly #placed: (readonly string[] | undefined)[] = [];
  readonly #affected = new Set<string>();
  #loaded = false;

  /** Without `grouping` there is one group, which is there even when it is empty. */
  constructor(
    owner: Owner,
    base: CollectionNode<T>,
    aggregators: A,
    grouping: GroupBy<T, K> | undefined,
    options: CollectionOptions,
  ) {
    const kind: Kind<Aggregate<K, A>> = {
      label: undefined,
      key: ({ key }) => grouping?.toText?.(key) ?? String(key),
      equals: (a, b) => a.size === b.size && deepEqual(a.values, b.values),
      keyIsName: false,
      name: undefined,
      namespace: undefined,
      labels: undefined,
      selector: undefined,
    };
    super(owner, "aggregate", kind, options);
    this.#base = base;
    this.#aggregators = aggregators;
    this.#names = Object.keys(aggregators);
    this.#grouping = grouping;
    this.addEdge(base, "input");
  }

  get value(): Aggregate<K, A> | undefined {
    return this.list()[0];
  }

  protected *work(): Generator<void, void> {
    const base = this.#base;
    let count = 0;
    if (this.#loaded) {
      const { changed, events } = base;
      for (let i = 0; i < events.count; i++) {
        const { slot } = changed.at(i);
        const { old, new: now } = events.at(i);
        this.#change(slot, old, now);
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    } else {
      this.#loaded = true;
      if (this.#grouping === undefined) this.#affected.add(SINGLETON_KEY);
      for (const row of base.rows()) {
        this.#change(row.slot, undefined, base.valueOf(row));
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    }
    for (const text of this.#affected) {
      this.#show(text);
      if (++count % KEYS_PER_YIELD === 0) yield;
    }
    this.#affected.clear();
    if (base.syncState !== SyncState.unsynced) this.becomeSynced();
  }

  #change(slot: number, old: T | undefined, now: T | undefined): void {
    const places = this.#placed[slot];
    if (old !== undefined && places !== undefined) {
      for (const text of places) this.#guard(() => this.#take(text, old));
    }
    this.#placed[slot] = undefined;
    if (now === undefined) return;
    const entered: string[] = [];
    this.#guard(() => {
      for (const [text, key] of this.#groupsOf(now)) {
        this.#put(text, key, now);
        entered.push(text);
      }
    });
    this.#placed[slot] = entered;
  }

  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.graph.reportCallback("an aggregator", this.name, error);
    }
  }

  #groupsOf(object: T): Map<string, K> {
    const grouping = this.#grouping;
    if (grouping === undefined) return new Map([[SINGLETON_KEY, SINGLETON_KEY as K]]);
    const keys = grouping.by(object);
    if (keys === undefined) return new Map();
    const list = (Array.isArray(keys) ? keys : [keys]) as readonly K[];
    return new Map(list.map((key) => [grouping.toText?.(key) ?? String(key), key]));
  }

  #put(text: string, key: K, object: T): void {
    const group = this.#groups.get(text) ?? this.#create(key);
    const states = this.#names.map((name, i) =>
      this.#aggregators[name]?.add(group.states[i], object),
    );
    for (const [i, state] of states.entries()) group.states[i] = state;
    group.size++;
    this.#groups.set(text, group);
    this.#affected.add(text);
  }

  #take(text: string, object: T): void {
    const group = this.#groups.get(text);
    if (group === undefined) return;
    group.size--;
    this.#affected.add(text);
    // A group that is empty starts anew, which also ends whatever rounding left behind.
    if (group.size === 0) this.#groups.delete(text);
    else {
      for (const [i, name] of this.#names.entries()) {
        group.states[i] = this.#aggregators[name]?.remove(group.states[i], object);
      }
    }
  }

  #create(key: K): GroupState<K> {
    return { key, size: 0, states: this.#names.map((name) => this.#aggregators[name]?.create()) };
  }

  #show(text: string): void {
    const row = this.rowAt(text);
    const alone = this.#grouping === undefined;
    const group = this.#groups.get(text) ?? (alone ? this.#create(SINGLETON_KEY as K) : undefined);
    if (group === undefined) {
      if (row?.value !== undefined) this.removeRow(row);
      return;
    }
    const values = Object.fromEntries(
      this.#names.map((name, i) => [name, this.#aggregators[name]?.value(group.states[i])]),
    ) as AggregateValues<A>;
    const aggregate = { key: group.key, size: group.size, values };
    if (row?.value === undefined) this.addRow(text, row, aggregate, undefined);
    else if (!this.comparer.equal(row.value, aggregate)) this.updateRow(row, aggregate);
  }

  protected release(): void {
    this.#groups.clear();
  }
}
