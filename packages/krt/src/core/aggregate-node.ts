import type {
  Aggregate,
  AggregateValues,
  Aggregators,
  AnyAggregator,
  GroupBy,
} from "../aggregate.ts";
import type { CollectionOptions, Singleton } from "../collection.ts";
import { deepEqual } from "../equality.ts";
import { type Kind, SINGLETON_KEY } from "../kind.ts";
import { clash, KeyTexts, requireText } from "./key-texts.ts";
import { type CollectionNode, type NodeType, SyncState } from "./node.ts";
import type { Owner } from "./scope.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";
import { sameKey } from "./store-key.ts";

/** The running states of one group. */
interface GroupState<K> {
  readonly key: K;
  size: number;
  states: unknown[];
  /** An aggregator threw, so that the states are not those of the objects any more. */
  broken: boolean;
}

/**
 * Values over the objects of a collection, per group, that follow each change of it.
 *
 * Invariants between turns: `#groups` has exactly the groups that objects are in, with the states over
 * these objects; `#placed[slot]` are the group keys under which the object of that row was added,
 * and from these it will be removed, regardless of what the functions return then. The rows are the values. A group in which
 * an aggregator threw is computed again from its objects, without those that it throws for.
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
  readonly #groups = new Map<unknown, GroupState<K>>();
  readonly #placed: (readonly unknown[] | undefined)[] = [];
  readonly #affected = new Set<unknown>();
  readonly #texts: KeyTexts;
  #loaded = false;

  /** Without `grouping` there is one group, which is there even when it is empty. */
  constructor(
    owner: Owner,
    base: CollectionNode<T>,
    aggregators: A,
    grouping: GroupBy<T, K> | undefined,
    options: CollectionOptions,
  ) {
    const texts = new KeyTexts((key, text) => this.graph.report(clash(this.name, key, text)));
    const kind: Kind<Aggregate<K, A>> = {
      label: undefined,
      key: ({ key }) => texts.peek(grouping?.toText?.(key) ?? key),
      // Another key with the same text may follow within a turn.
      equals: (a, b) =>
        a.size === b.size &&
        (grouping?.toText !== undefined || sameKey(a.key, b.key)) &&
        deepEqual(a.values, b.values),
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
    this.#texts = texts;
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
    this.#repair();
    // Groups that went make their texts free for those that came.
    for (const shown of [false, true]) {
      for (const key of this.#affected) {
        if (this.#groups.has(key) !== shown) continue;
        this.#guard(() => this.#show(key));
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    }
    this.#affected.clear();
    if (base.syncState !== SyncState.unsynced) this.becomeSynced();
  }

  #change(slot: number, old: T | undefined, now: T | undefined): void {
    const places = this.#placed[slot];
    if (old !== undefined && places !== undefined) {
      for (const key of places) this.#take(key, old);
    }
    this.#placed[slot] = undefined;
    if (now === undefined) return;
    const entered: unknown[] = [];
    this.#guard(() => {
      for (const [key, typed] of this.#groupsOf(now)) {
        this.#put(key, typed, now);
        entered.push(key);
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

  /** The group keys of an object, with their typed keys. */
  #groupsOf(object: T): Map<unknown, K> {
    const grouping = this.#grouping;
    if (grouping === undefined) return new Map([[SINGLETON_KEY, SINGLETON_KEY as K]]);
    const keys = grouping.by(object);
    if (keys === undefined) return new Map();
    const list = (Array.isArray(keys) ? keys : [keys]) as readonly K[];
    return new Map(list.map((key) => [this.#storeKey(key, grouping), key]));
  }

  #storeKey(key: K, { toText }: GroupBy<T, K>): unknown {
    if (toText !== undefined) return toText(key);
    requireText(key);
    return key;
  }

  #put(key: unknown, typed: K, object: T): void {
    const group = this.#groups.get(key) ?? this.#create(typed);
    this.#groups.set(key, group);
    this.#affected.add(key);
    group.size++;
    if (!group.broken) this.#step(group, (aggregator, state) => aggregator.add(state, object));
  }

  #take(key: unknown, object: T): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.size--;
    this.#affected.add(key);
    // An empty group starts again, which also removes accumulated rounding errors.
    if (group.size === 0) this.#groups.delete(key);
    else if (!group.broken) {
      this.#step(group, (aggregator, state) => aggregator.remove(state, object));
    }
  }

  /** Moves all states of a group on, or leaves it broken where one cannot be. */
  #step(group: GroupState<K>, move: (aggregator: AnyAggregator<T>, state: unknown) => unknown) {
    try {
      this.#moveAll(group, move);
    } catch {
      group.broken = true;
    }
  }

  #moveAll(
    group: GroupState<K>,
    move: (aggregator: AnyAggregator<T>, state: unknown) => unknown,
  ): void {
    const { states } = group;
    for (let i = 0; i < this.#names.length; i++) {
      const aggregator = this.#aggregators[this.#names[i] as string];
      if (aggregator !== undefined) states[i] = move(aggregator, states[i]);
    }
  }

  /** Computes the broken groups again, object by object. O(collection), for groups that threw alone. */
  #repair(): void {
    for (const key of this.#affected) {
      const group = this.#groups.get(key);
      if (group?.broken !== true) continue;
      const objects: T[] = [];
      for (const row of this.#base.rows()) {
        const value = this.#base.valueOf(row);
        if (value === undefined || this.#placed[row.slot]?.includes(key) !== true) continue;
        if (this.#accepts(group.key, value)) objects.push(value);
        else this.#placed[row.slot] = this.#placed[row.slot]?.filter((own) => own !== key);
      }
      const fresh = this.#create(group.key);
      for (const object of objects) {
        this.#moveAll(fresh, (aggregator, state) => aggregator.add(state, object));
      }
      fresh.size = objects.length;
      if (fresh.size === 0) this.#groups.delete(key);
      else this.#groups.set(key, fresh);
    }
  }

  /** Whether no aggregator throws for an object. */
  #accepts(key: K, object: T): boolean {
    try {
      this.#moveAll(this.#create(key), (aggregator, state) => aggregator.add(state, object));
      return true;
    } catch (error) {
      this.graph.reportCallback("an aggregator", this.name, error);
      return false;
    }
  }

  #create(key: K): GroupState<K> {
    const states = this.#names.map((name) => this.#aggregators[name]?.create());
    return { key, size: 0, states, broken: false };
  }

  #show(key: unknown): void {
    const alone = this.#grouping === undefined;
    const group = this.#groups.get(key) ?? (alone ? this.#create(SINGLETON_KEY as K) : undefined);
    if (group === undefined) {
      const gone = this.rowAt(this.#texts.peek(key));
      if (gone?.value !== undefined && this.#texts.uses(key)) this.removeRow(gone);
      this.#texts.release(key);
      return;
    }
    const values = Object.fromEntries(
      this.#names.map((name, i) => [name, this.#aggregators[name]?.value(group.states[i])]),
    ) as AggregateValues<A>;
    const aggregate = { key: group.key, size: group.size, values };
    const text = this.#texts.use(key);
    const row = this.rowAt(text);
    if (row?.value === undefined) this.addRow(text, row, aggregate, undefined);
    else if (!this.comparer.equal(row.value, aggregate)) this.updateRow(row, aggregate);
  }

  protected release(): void {
    this.#groups.clear();
  }
}
