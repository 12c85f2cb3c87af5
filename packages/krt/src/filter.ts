import type { AnyIndex } from "./core/index-store.ts";
import { type CapabilitySet, type Kind, type KindCapability, namespacedKey } from "./kind.ts";
import { includesLabels, isEmptyLabels, type Labels, sameLabels } from "./labels.ts";
import type { Index } from "./secondary-index.ts";

declare const SUBJECT: unique symbol;
declare const NEEDS: unique symbol;

/**
 * A condition on the objects of a fetch; several hold together. `T` is what it can be asked of, `Req`
 * the traits that the collection's kind must have. Both exist in types only.
 */
export interface Filter<in T, out Req extends KindCapability> {
  readonly type: FilterType;
  readonly [SUBJECT]?: (object: T) => void;
  readonly [NEEDS]?: (traits: CapabilitySet<Req>) => void;
}

/** The part of an object that a condition tests. Numbers, so that comparing two filters is cheap. */
export const FilterType = {
  key: 0,
  keys: 1,
  index: 2,
  labels: 3,
  selects: 4,
  selectsNonEmpty: 5,
  where: 6,
  name: 7,
  any: 8,
} as const;
export type FilterType = (typeof FilterType)[keyof typeof FilterType];

type Predicate = (object: unknown) => boolean;

/**
 * The one class behind all filters: one hidden class keeps the comparison of filters monomorphic, and
 * few fields keep them cheap, as a transformation makes them anew in every run.
 */
export class FilterSpec implements Filter<never, never> {
  readonly type: FilterType;
  /** The key, keys, index key or keys, labels, predicate, or lists of alternatives. */
  readonly operand: unknown;
  readonly index: AnyIndex<unknown> | undefined;

  constructor(type: FilterType, operand: unknown, index: AnyIndex<unknown> | undefined) {
    this.type = type;
    this.operand = operand;
    this.index = index;
  }

  /** The labels of a filter by labels or selection. */
  get labels(): Labels {
    return this.operand as Labels;
  }

  /** Whether it asks for selectors that select labels. */
  get selects(): boolean {
    return this.type === FilterType.selects || this.type === FilterType.selectsNonEmpty;
  }

  /** The alternatives of an `any`, each a list of filters that hold together. */
  get alternatives(): readonly (readonly FilterSpec[])[] {
    return this.operand as readonly (readonly FilterSpec[])[];
  }

  /** Whether both ask the same, but for the functions of `where`. */
  sameQuestion(other: FilterSpec): boolean {
    if (this === other) return true;
    const { type, operand } = this;
    if (type !== other.type) return false;
    switch (type) {
      case FilterType.key:
      case FilterType.name:
        return operand === other.operand;
      case FilterType.index:
        return this.index === other.index && sameKeys(operand, other.operand);
      case FilterType.keys:
        return sameKeys(operand, other.operand);
      case FilterType.labels:
      case FilterType.selects:
      case FilterType.selectsNonEmpty:
        return sameLabels(operand as Labels, other.operand as Labels);
      case FilterType.where:
        return true;
      case FilterType.any:
        return everyPair(this.alternatives, other.alternatives, (a, b) =>
          everyPair(a, b, (one, two) => one.sameQuestion(two)),
        );
      default:
        return type satisfies never;
    }
  }

  /** Whether another filter that asks the same has the same functions as well. */
  sameFunctions(other: FilterSpec): boolean {
    if (this === other || this.type < FilterType.where) return true;
    if (this.type === FilterType.where) return this.operand === other.operand;
    if (this.type !== FilterType.any) return true;
    return everyPair(this.alternatives, other.alternatives, (a, b) =>
      everyPair(a, b, (one, two) => one.sameFunctions(two)),
    );
  }

  /** Whether `value` fulfils this condition. Index and key conditions are decided by the caller's `key`. */
  test(kind: Kind<never>, key: string, value: unknown): boolean {
    const { type, operand } = this;
    switch (type) {
      case FilterType.key:
        return operand === key;
      case FilterType.name:
        return operand === (kind.keyIsName ? key : nameOf(kind, value));
      case FilterType.keys:
        return (operand as readonly string[]).includes(key);
      case FilterType.index:
        return this.index?.holds(value, operand) ?? false;
      case FilterType.labels:
        return includesLabels(kind.labels?.(value as never), operand as Labels);
      case FilterType.selects:
      case FilterType.selectsNonEmpty: {
        const selector = kind.selector?.(value as never);
        if (isEmptyLabels(selector)) return type === FilterType.selects;
        return includesLabels(operand as Labels, selector);
      }
      case FilterType.where:
        return (operand as Predicate)(value);
      case FilterType.any:
        return this.alternatives.some((all) =>
          all.every((filter) => filter.test(kind, key, value)),
        );
      default:
        return type satisfies never;
    }
  }
}

function everyPair<V>(
  a: readonly V[],
  b: readonly V[],
  same: (one: V, two: V) => boolean,
): boolean {
  return a.length === b.length && a.every((one, i) => same(one, b[i] as V));
}

function nameOf(kind: Kind<never>, value: unknown): string | undefined {
  if (kind.name === undefined) return undefined;
  return namespacedKey(kind.namespace?.(value as never), kind.name(value as never));
}

/** Index keys and key lists: one value, or a list of them compared in order. */
function sameKeys(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((key, i) => key === b[i]);
}

/** The object of this key. */
export function byKey(key: string): Filter<unknown, never> {
  return new FilterSpec(FilterType.key, key, undefined);
}

/** The objects of these keys. An empty list matches nothing. */
export function byKeys(keys: Iterable<string>): Filter<unknown, never> {
  return new FilterSpec(FilterType.keys, [...keys], undefined);
}

/** The object of this namespace and name: a point lookup for kinds that are keyed by them. */
export function byName(namespace: string | undefined, name: string): Filter<unknown, "name"> {
  const key = namespacedKey(namespace, name);
  return new FilterSpec(FilterType.name, key, undefined);
}

/** The objects that the index holds under `key`. */
export function byIndex<K, T>(index: Index<K, T>, key: K): Filter<T, never> {
  const store = index as unknown as AnyIndex<unknown>;
  return new FilterSpec(FilterType.index, store.toKey(key), store);
}

/** The objects that the index holds under any of `keys`. An empty list matches nothing. */
export function byIndexKeys<K, T>(index: Index<K, T>, keys: Iterable<K>): Filter<T, never> {
  const store = index as unknown as AnyIndex<unknown>;
  const list = [...new Set(Array.from(keys, (key) => store.toKey(key)))];
  return new FilterSpec(FilterType.index, list, store);
}

/** The objects whose labels include all of `labels`. Empty or absent `labels` match everything. */
export function byLabels(labels: Labels | undefined): Filter<unknown, "labels"> {
  return new FilterSpec(FilterType.labels, labels ?? {}, undefined);
}

/** The objects whose selector selects `labels`. An empty selector selects everything. */
export function selecting(labels: Labels | undefined): Filter<unknown, "selector"> {
  return new FilterSpec(FilterType.selects, labels ?? {}, undefined);
}

/** The objects whose selector selects `labels`. An empty selector selects nothing. */
export function selectingNonEmpty(labels: Labels | undefined): Filter<unknown, "selector"> {
  return new FilterSpec(FilterType.selectsNonEmpty, labels ?? {}, undefined);
}

/**
 * The objects for which the pure function `predicate` holds. Give a function that stays the same object
 * from run to run where you can: it lets inputs share one query.
 */
export function where<T>(predicate: (object: T) => boolean): Filter<T, never> {
  return new FilterSpec(FilterType.where, predicate, undefined);
}

/** The objects that fulfil all filters of at least one of `alternatives`. None matches nothing. */
export function any<T = unknown, Req extends KindCapability = never>(
  ...alternatives: readonly (Filter<T, Req> | readonly Filter<T, Req>[])[]
): Filter<T, Req> {
  const lists = alternatives.map((one) => (Array.isArray(one) ? one : [one]));
  return new FilterSpec(FilterType.any, lists, undefined);
}
