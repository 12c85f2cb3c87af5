import { type FilterSpec, FilterType } from "../filter.ts";
import { isEmptyLabels, type Labels } from "../labels.ts";
import { addToBucket, type Bucket, bucketMembers, deleteFromBucket } from "./bucket.ts";
import type { AnyIndex } from "./index-store.ts";
import type { Candidates, LabelIndex } from "./label-index.ts";
import { LazyMap } from "./lazy-map.ts";
import type { CollectionNode } from "./node.ts";
import { type Projection, Query, shareKeyOf } from "./query.ts";
import type { MutableEvent, Row } from "./row.ts";
import { hasKey } from "./store-key.ts";

/** Label name -> value -> queries that ask for this pair. */
type Pairs<T> = Map<string, Map<string, Set<Query<T>>>>;

/**
 * The live queries of one collection, arranged so that a change finds those it may concern.
 *
 * Invariant: a query is in the structure of its anchor, and in no other, from `acquire` to `release`:
 * - key, keys: `#byKey`, once per key;
 * - index: `queries` of the index store, once per key;
 * - labels, not empty: `#labelPairs`, under one of its pairs (an object must have them all);
 * - selects: `#selectPairs`, under all of its pairs (a selector has only some), and where an empty
 *   selector matches, also in `#selectEmpty`;
 * - otherwise: `#scanned`, which every change has to go through.
 * A query that can match nothing (no keys, no labels for a selector that may not be empty) is in `#vain`.
 *
 * So a change reaches every query whose filters match its old or new version, and few others.
 */
export class QueryRegistry<T> {
  readonly #node: CollectionNode<T>;
  readonly #shared = new LazyMap<string, Query<T>>();
  readonly #byKey = new LazyMap<string, Bucket<Query<T>>>();
  readonly #labelPairs: Pairs<T> = new Map();
  readonly #selectPairs: Pairs<T> = new Map();
  readonly #selectEmpty = new Set<Query<T>>();
  readonly #scanned = new Set<Query<T>>();
  readonly #vain = new Set<Query<T>>();
  /** Indexes with queries anchored at them, and how many. */
  readonly #indexes = new Map<AnyIndex<T>, number>();
  readonly labelIndexes: LabelIndex<T>[] = [];
  #size = 0;

  constructor(node: CollectionNode<T>) {
    this.#node = node;
  }

  /** Number of live queries. */
  get size(): number {
    return this.#size;
  }

  /** The shared query for this question, or a new one. The caller links it at once. */
  acquire(filters: readonly FilterSpec[], projection: Projection | undefined): Query<T> {
    const shareKey = this.#shareKey(filters, projection);
    const existing = shareKey === undefined ? undefined : this.#shared.get(shareKey);
    if (existing !== undefined) return existing;
    const query = new Query(this.#node, filters, projection, shareKey);
    if (shareKey !== undefined) this.#shared.set(shareKey, query);
    this.#size++;
    this.#place(query, true);
    return query;
  }

  /** Forgets a query that lost its last user. */
  release(query: Query<T>): void {
    if (query.shareKey !== undefined) this.#shared.delete(query.shareKey);
    this.#size--;
    this.#place(query, false);
  }

  /** The rows a declared label index leaves for these filters, or `undefined` where none applies. */
  candidates(filters: readonly FilterSpec[]): Candidates<T> | undefined {
    let best: Candidates<T> | undefined;
    for (const index of this.labelIndexes) {
      const found = index.candidates(filters);
      if (found !== undefined && (best === undefined || found.count < best.count)) best = found;
    }
    return best;
  }

  /** Forgets the label index behind a store that is dropped. */
  dropLabelIndex(store: AnyIndex<T>): void {
    const at = this.labelIndexes.findIndex((index) => index.store === store);
    if (at >= 0) this.labelIndexes.splice(at, 1);
  }

  /** All live queries, for inspection. */
  *all(): IterableIterator<Query<T>> {
    const seen = new Set<Query<T>>(this.#scanned);
    for (const query of this.#selectEmpty) seen.add(query);
    for (const query of this.#vain) seen.add(query);
    for (const bucket of this.#byKey.values()) for (const q of bucketMembers(bucket)) seen.add(q);
    for (const pairs of [this.#labelPairs, this.#selectPairs]) {
      for (const values of pairs.values()) {
        for (const queries of values.values()) for (const query of queries) seen.add(query);
      }
    }
    for (const index of this.#indexes.keys()) {
      for (const bucket of index.queries.values())
        for (const q of bucketMembers(bucket)) seen.add(q);
    }
    yield* seen;
  }

  #shareKey(
    filters: readonly FilterSpec[],
    projection: Projection | undefined,
  ): string | undefined {
    const { graph } = this.#node;
    const question = shareKeyOf(filters, graph.functionIds);
    if (question === undefined || projection === undefined) return question;
    const id = graph.functionIds.of(projection);
    return id === undefined ? undefined : `p${id}${question}`;
  }

  #place(query: Query<T>, enter: boolean): void {
    const { anchor } = query;
    if (isVain(query)) {
      toggle(this.#vain, query, enter);
    } else if (anchor === undefined) {
      this.#placeUnanchored(query, enter);
    } else if (anchor.type === FilterType.index) {
      this.#placeIndexed(query, anchor, enter);
    } else {
      const keys =
        anchor.type === FilterType.keys ? (anchor.operand as string[]) : [anchor.operand as string];
      for (const key of keys) {
        if (enter) addToBucket(this.#byKey, key, query);
        else deleteFromBucket(this.#byKey, key, query);
      }
    }
  }

  #placeIndexed(query: Query<T>, anchor: FilterSpec, enter: boolean): void {
    const index = anchor.index as AnyIndex<T>;
    const keys = Array.isArray(anchor.operand) ? anchor.operand : [anchor.operand];
    for (const key of keys) {
      if (enter) addToBucket(index.queries, key, query);
      else deleteFromBucket(index.queries, key, query);
    }
    const users = (this.#indexes.get(index) ?? 0) + (enter ? 1 : -1);
    if (users === 0) {
      this.#indexes.delete(index);
      this.#node.indexes.dropUnused(index);
    } else {
      this.#indexes.set(index, users);
    }
  }

  #placeUnanchored(query: Query<T>, enter: boolean): void {
    const labels = query.filters.find(
      (filter) => filter.type === FilterType.labels && !isEmptyLabels(filter.labels),
    )?.labels;
    if (labels !== undefined) {
      for (const name in labels) {
        placeInPairs(this.#labelPairs, name, labels[name] ?? "", query, enter);
        return;
      }
    }
    const selects = query.filters.find((filter) => filter.selects);
    if (selects === undefined) {
      toggle(this.#scanned, query, enter);
      return;
    }
    for (const name in selects.labels) {
      placeInPairs(this.#selectPairs, name, selects.labels[name] ?? "", query, enter);
    }
    if (selects.type === FilterType.selects) toggle(this.#selectEmpty, query, enter);
  }

  /**
   * Notifies the queries of the node's changes from number `start` on. Returns where it stopped: the
   * number of changes, or less when time ran out.
   */
  publish(start: number): number {
    const { events, changed, graph } = this.#node;
    if (this.#size === 0) return events.count;
    const turn = graph.turn.number;
    for (let i = start; i < events.count; ) {
      const event = events.at(i);
      try {
        this.#publishOne(event, changed.at(i), turn);
      } catch {
        // A trait threw. Runs that fetch will meet the same error and report it with their input.
        for (const query of this.all()) query.notice(event, true, true, turn);
      }
      if ((++i & 63) === 0 && graph.turn.outOfTime()) return i;
    }
    return events.count;
  }

  #publishOne(event: MutableEvent<T>, row: Row<T>, turn: number): void {
    if (this.#byKey.size > 0) notifyAll(this.#byKey.get(event.key), event, turn);
    for (const index of this.#indexes.keys()) publishIndexed(index, event, row, turn);
    if (this.#labelPairs.size > 0) {
      const labelsOf = this.#node.kind.labels;
      if (labelsOf !== undefined) {
        this.#publishPairs(this.#labelPairs, labelsOf, event, turn);
      }
    }
    if (this.#selectPairs.size > 0 || this.#selectEmpty.size > 0) {
      this.#publishSelectors(event, turn);
    }
    for (const query of this.#scanned) query.notice(event, true, true, turn);
  }

  #publishPairs(
    pairs: Pairs<T>,
    labelsOf: (value: T) => Labels | undefined,
    event: MutableEvent<T>,
    turn: number,
  ): void {
    for (const value of [event.old, event.new]) {
      const labels = value === undefined ? undefined : labelsOf(value);
      for (const name in labels) {
        const queries = pairs.get(name)?.get(labels[name] ?? "");
        if (queries !== undefined)
          for (const query of queries) query.notice(event, true, true, turn);
      }
    }
  }

  /** A selector with pairs can only match a query that has all of them: any one pair finds it. */
  #publishSelectors(event: MutableEvent<T>, turn: number): void {
    const selectorOf = this.#node.kind.selector;
    for (const value of [event.old, event.new]) {
      if (value === undefined) continue;
      const selector = selectorOf?.(value);
      if (selector === undefined || isEmptyLabels(selector)) {
        for (const query of this.#selectEmpty) query.notice(event, true, true, turn);
        continue;
      }
      for (const name in selector) {
        const queries = this.#selectPairs.get(name)?.get(selector[name] ?? "");
        if (queries !== undefined)
          for (const query of queries) query.notice(event, true, true, turn);
        break;
      }
    }
  }
}

function toggle<M>(set: Set<M>, member: M, enter: boolean): void {
  if (enter) set.add(member);
  else set.delete(member);
}

/** Whether a query can match no object at all. */
function isVain<T>({ filters }: Query<T>): boolean {
  return filters.some(
    ({ type, operand }) =>
      (Array.isArray(operand) && operand.length === 0) ||
      (type === FilterType.selectsNonEmpty && isEmptyLabels(operand as Labels)),
  );
}

function notifyAll<T>(bucket: Bucket<Query<T>> | undefined, event: MutableEvent<T>, turn: number) {
  if (bucket === undefined) return;
  if (bucket instanceof Set) {
    for (const query of bucket) query.notice(event, true, true, turn);
  } else {
    bucket.notice(event, true, true, turn);
  }
}

/** Queries at the keys the object had, then those at keys it only has now. */
function publishIndexed<T>(
  index: AnyIndex<T>,
  event: MutableEvent<T>,
  row: Row<T>,
  turn: number,
): void {
  const now = event.new === undefined ? undefined : index.keysNow(row);
  const before = event.old === undefined ? undefined : index.keysBefore(row);
  for (const key of listed(before)) {
    const queries = index.queries.get(key);
    if (queries === undefined) continue;
    const still = hasKey(now, key);
    for (const query of bucketMembers(queries)) {
      query.notice(event, true, still || asksForOneOf(query, now), turn);
    }
  }
  if (now === before) return;
  for (const key of listed(now)) {
    const queries = index.queries.get(key);
    if (queries === undefined || hasKey(before, key)) continue;
    for (const query of bucketMembers(queries)) {
      if (!asksForOneOf(query, before)) query.notice(event, false, true, turn);
    }
  }
}

/** Whether a query that asks for several keys of an index asks for one of these: an object may move between its keys. */
function asksForOneOf<T>({ anchor }: Query<T>, keys: unknown): boolean {
  const asked = anchor?.operand;
  return (
    Array.isArray(asked) && asked.length > 1 && listed(keys).some((key) => asked.includes(key))
  );
}

function listed(keys: unknown): readonly unknown[] {
  if (keys === undefined) return [];
  return Array.isArray(keys) ? keys : [keys];
}

function placeInPairs<T>(
  pairs: Pairs<T>,
  name: string,
  value: string,
  query: Query<T>,
  enter: boolean,
): void {
  let values = pairs.get(name);
  if (enter) {
    if (values === undefined) pairs.set(name, (values = new Map()));
    let queries = values.get(value);
    if (queries === undefined) values.set(value, (queries = new Set()));
    queries.add(query);
    return;
  }
  const queries = values?.get(value);
  if (values === undefined || queries === undefined) return;
  queries.delete(query);
  if (queries.size === 0) values.delete(value);
  if (values.size === 0) pairs.delete(name);
}
