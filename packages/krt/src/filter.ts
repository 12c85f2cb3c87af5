import type { AnyIndex } from "./core/index-store.ts";
import { type Kind, namespacedKey, type Trait, type TraitSet } from "./kind.ts";
import { includesLabels, isEmptyLabels, type Labels, sameLabels } from "./labels.ts";
import type { Index } from "./secondary-index.ts";

declare const SUBJECT: unique symbol;
declare const NEEDS: unique symbol;

/**
 * A condition on the objects of a fetch; several hold together. `T` is what it can be asked of, `Req`
 * the traits that the collection's kind must have. Both exist in types only.
 */
export interface Filter<in T, out Req extends Trait> {
  readonly type: FilterType;
  readonly [SUBJECT]?: (object: T) => void;
  readonly [NEEDS]?: (traits: TraitSet<Req>) => void;
}

/** What a condition looks at. Numbers, so that comparing two filters is cheap. */
export const FilterType = {
  key: 0,
  keys: 1,
  index: 2,
  labels: 3,
  selects: 4,
  where: 5,
  name: 6,
  any: 7,
} as const;
export type FilterType = (typeof FilterType)[keyof typeof FilterType];

type Predicate = (object: never) => boolean;

/** The one class behind all filters: one hidden class keeps the comparison of filters monomorphic. */
export class FilterSpec implements Filter<never, never> {
  readonly type: FilterType;
  /** The key, the keys, the index key or keys, or the alternatives. */
  readonly key: unknown;
  readonly index: AnyIndex<unknown> | undefined;
  readonly labels: Labels | undefined;
  /** `selects` only: whether an empty selector matches. */
  readonly emptyMatches: boolean;
  readonly predicate: Predicate | undefined;

  constructor(
    type: FilterType,
    key: unknown,
    index: AnyIndex<unknown> | undefined,
    labels: Labels | undefined,
    emptyMatches: boolean,
    predicate: Predicate | undefined,
  ) {
    this.type = type;
    this.key = key;
    this.index = index;
    this.labels = labels;
    this.emptyMatches = emptyMatches;
    this.predicate = predicate;
  }

  /** Whether both ask the same, but for the function of a `where`. */
  sameQuestion(other: FilterSpec): boolean {
    if (this === other) return true;
    if (this.type !== other.type) return false;
    switch (this.type) {
      case FilterType.key:
      case FilterType.name:
        return this.key === other.key;
      case FilterType.index:
        return this.index === other.index && sameKeys(this.key, other.key);
      case FilterType.keys:
        return sameKeys(this.key, other.key);
      case FilterType.labels:
        return sameLabels(this.labels, other.labels);
      case FilterType.selects:
        return this.emptyMatches === other.emptyMatches && sameLabels(this.labels, other.labels);
      case FilterType.where:
        return true;
      case FilterType.any:
        return false;
      default:
        return this.type satisfies never;
    }
  }

  /** Whether `value` fulfils this condition. Index and key conditions are decided by the caller's `key`. */
  test(kind: Kind<never>, key: string, value: unknown): boolean {
    switch (this.type) {
      case FilterType.key:
        return this.key === key;
      case FilterType.name:
        return kind.keyIsName ? this.key === key : this.key === nameOf(kind, value);
      case FilterType.keys:
        return (this.key as readonly string[]).includes(key);
      case FilterType.index:
        return this.index?.holds(value, this.key) ?? false;
      case FilterType.labels:
        return includesLabels(kind.labels?.(value as never), this.labels);
      case FilterType.selects: {
        const selector = kind.selector?.(value as never);
        if (isEmptyLabels(selector)) return this.emptyMatches;
        return includesLabels(this.labels, selector);
      }
      case FilterType.where:
        return Boolean((this.predicate as ((value: unknown) => boolean) | undefined)?.(value));
      case FilterType.any:
        return (this.key as readonly (readonly FilterSpec[])[]).some((all) =>
          all.every((filter) => filter.test(kind, key, value)),
        );
      default:
        return this.type satisfies never;
    }
  }
}

function nameOf(kind: Kind<never>, value: unknown): string | undefined {
  if (kind.name === undefined) return undefined;
  return namespacedKey(kind.namespace?.(value as never), kind.name(value as never));
}

/** Index keys and key lists: one value, or a list of them compared in order. */
function sameKeys(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((key, i) => Object.is(key, b[i]));
}

/** The object of this key. */
export function byKey(key: string): Filter<unknown, never> {
  return new FilterSpec(FilterType.key, key, undefined, undefined, false, undefined);
}

/** The objects of these keys. An empty list matches nothing. */
export function byKeys(keys: Iterable<string>): Filter<unknown, never> {
  return new FilterSpec(FilterType.keys, [...keys], undefined, undefined, false, undefined);
}

/** The object of this namespace and name: a point lookup for kinds that are keyed by them. */
export function byName(namespace: string | undefined, name: string): Filter<unknown, "name"> {
  const key = namespacedKey(namespace, name);
  return new FilterSpec(FilterType.name, key, undefined, undefined, false, undefined);
}

/** The objects that the index holds under `key`. */
export function byIndex<K, T>(index: Index<K, T>, key: K): Filter<T, never> {
  const store = index as unknown as AnyIndex<unknown>;
  return new FilterSpec(FilterType.index, store.toKey(key), store, undefined, false, undefined);
}

/** The objects that the index holds under any of `keys`. An empty list matches nothing. */
export function byIndexKeys<K, T>(index: Index<K, T>, keys: Iterable<K>): Filter<T, never> {
  const store = index as unknown as AnyIndex<unknown>;
  const list = [...new Set(Array.from(keys, (key) => store.toKey(key)))];
  return new FilterSpec(FilterType.index, list, store, undefined, false, undefined);
}

/** The objects whose labels include all of `labels`. Empty or absent `labels` match everything. */
export function byLabels(labels: Labels | undefined): Filter<unknown, "labels"> {
  return new FilterSpec(FilterType.labels, undefined, undefined, labels ?? {}, false, undefined);
}

/** The objects whose selector selects `labels`. An empty selector selects everything. */
export function selecting(labels: Labels | undefined): Filter<unknown, "selector"> {
  return new FilterSpec(FilterType.selects, undefined, undefined, labels ?? {}, true, undefined);
}

/** The objects whose selector selects `labels`. An empty selector selects nothing. */
export function selectingNonEmpty(labels: Labels | undefined): Filter<unknown, "selector"> {
  return new FilterSpec(FilterType.selects, undefined, undefined, labels ?? {}, false, undefined);
}

/**
 * The objects for which the pure function `predicate` holds. Give a function that stays the same object
 * from run to run where you can: it lets inputs share one query.
 */
export function where<T>(predicate: (object: T) => boolean): Filter<T, never> {
  return new FilterSpec(FilterType.where, undefined, undefined, undefined, false, predicate);
}

/** The objects that fulfil all filters of at least one of `alternatives`. None matches nothing. */
export function any<T = unknown, Req extends Trait = never>(
  ...alternatives: readonly (Filter<T, Req> | readonly Filter<T, Req>[])[]
): Filter<T, Req> {
  const lists = alternatives.map((one) => (Array.isArray(one) ? one : [one]));
  return new FilterSpec(FilterType.any, lists, undefined, undefined, false, undefined);
}
