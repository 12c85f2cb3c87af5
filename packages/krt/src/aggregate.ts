import { OrderedBag } from "./ordered-bag.ts";
import { RunningSum } from "./running-sum.ts";
import type { IndexKeys } from "./secondary-index.ts";

/**
 * A value over a set of objects that can follow single changes: adding and removing an object cost about
 * the same however many there are. `remove` is only called with what was added before.
 */
export interface Aggregator<T, S, V> {
  create(): S;
  /** The state with the object. May change `state` in place. */
  add(state: S, object: T): S;
  /** The state without the object. May change `state` in place. */
  remove(state: S, object: T): S;
  value(state: S): V;
}

/** An aggregator with a state of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- states are private to their aggregator
export type AnyAggregator<T, V = unknown> = Aggregator<T, any, V>;

/** Number of objects. */
export function count<T>(): Aggregator<T, number, number> {
  return {
    create: () => 0,
    add: (state) => state + 1,
    remove: (state) => state - 1,
    value: (state) => state,
  };
}

/**
 * Sum of a number per object. Exact for whole numbers up to 2^53; for others rounding errors are
 * corrected as they come, but a sum that followed many changes may differ in its last digits from one
 * that was made at once. `NaN` and infinities count as long as their objects are there.
 */
export function sum<T>(weight: (object: T) => number): Aggregator<T, RunningSum, number> {
  return {
    create: () => new RunningSum(),
    add: (state, object) => state.shift(weight(object), 1),
    remove: (state, object) => state.shift(weight(object), -1),
    value: (state) => state.value,
  };
}

/** What can be put in order by `<`. */
export type Comparable = number | string | bigint;

/** Smallest of a value per object; `undefined` when there is none, `NaN` while an object has that. */
export function min<T, V extends Comparable>(
  pick: (object: T) => V,
): Aggregator<T, OrderedBag<V>, V | undefined> {
  return extreme(pick, (a, b) => a < b);
}

/** Largest of a value per object; `undefined` when there is none, `NaN` while an object has that. */
export function max<T, V extends Comparable>(
  pick: (object: T) => V,
): Aggregator<T, OrderedBag<V>, V | undefined> {
  return extreme(pick, (a, b) => a > b);
}

function extreme<T, V extends Comparable>(
  pick: (object: T) => V,
  before: (a: V, b: V) => boolean,
): Aggregator<T, OrderedBag<V>, V | undefined> {
  return {
    create: () => new OrderedBag(before),
    add: (state, object) => {
      state.add(pick(object));
      return state;
    },
    remove: (state, object) => {
      state.remove(pick(object));
      return state;
    },
    value: (state) => state.first(),
  };
}

/** Names for the values to keep, with what computes them. */
export type Aggregators<T> = Readonly<Record<string, AnyAggregator<T>>>;

/** The values of a record of aggregators. */
export type AggregateValues<A> = {
  readonly [N in keyof A]: A[N] extends AnyAggregator<never, infer V> ? V : never;
};

/** The values of one group. */
export interface Aggregate<K, A> {
  readonly key: K;
  /** Number of objects in the group. Never 0: an empty group is absent. */
  readonly size: number;
  readonly values: AggregateValues<A>;
}

/** How objects are grouped for an aggregate. */
export interface GroupBy<T, K> {
  /** The group or groups of an object. None leaves it out. */
  readonly by: (object: T) => IndexKeys<K>;
  /** The text that stands for a group key that is not a string, number, boolean or bigint. */
  readonly toText?: (key: K) => string;
}
