import { type FilterSpec, FilterType } from "../filter.ts";
import type { Labels } from "../labels.ts";
import type { IndexStore } from "./index-store.ts";
import type { Row } from "./row.ts";

/** Rows among which all matches are, and how many they are at most. No row comes twice. */
export interface Candidates<T> {
  readonly rows: Iterable<Row<T>>;
  readonly count: number;
}

/** Where objects sit that have none of the indexed names. Not the text of any pair. */
const OTHERS = "";

function pairKey(name: string, value: string): string {
  return `${name}=${value}`;
}

/**
 * An index by the values of chosen label names, which fetches by labels or selectors use by themselves.
 *
 * - For labels an object is under each of its pairs of the chosen names: a filter that asks for one of
 *   the names finds all its matches under that pair.
 * - For selectors an object is under the first chosen name its selector has, or under "others". A
 *   selector that selects the labels of a fetch is then under one of the fetch's pairs or "others".
 */
export class LabelIndex<T> {
  readonly #names: readonly string[];
  readonly #selectors: boolean;
  readonly store: IndexStore<string, T>;

  constructor(
    names: readonly string[],
    type: "labels" | "selector",
    createStore: (extract: (object: T) => readonly string[]) => IndexStore<string, T>,
    labelsOf: (object: T) => Labels | undefined,
  ) {
    this.#names = names;
    this.#selectors = type === "selector";
    this.store = createStore(
      type === "labels"
        ? (object) => pairsOf(names, labelsOf(object))
        : (object) => [pairsOf(names, labelsOf(object))[0] ?? OTHERS],
    );
  }

  candidates(filters: readonly FilterSpec[]): Candidates<T> | undefined {
    for (const filter of filters) {
      const fits = this.#selectors ? filter.selects : filter.type === FilterType.labels;
      if (!fits) continue;
      const pairs = pairsOf(this.#names, filter.labels);
      if (this.#selectors) return this.#union([OTHERS, ...pairs]);
      const best = this.#smallest(pairs);
      if (best !== undefined) return best;
    }
    return undefined;
  }

  #smallest(pairs: readonly string[]): Candidates<T> | undefined {
    let best: string | undefined;
    let count = Number.POSITIVE_INFINITY;
    for (const pair of pairs) {
      const size = this.store.countAtAny(pair);
      if (size < count) [best, count] = [pair, size];
    }
    return best === undefined ? undefined : { rows: this.store.rowsAt(best), count };
  }

  #union(keys: readonly string[]): Candidates<T> {
    const rows: Row<T>[] = [];
    for (const key of keys) for (const row of this.store.rowsAt(key)) rows.push(row);
    return { rows, count: rows.length };
  }
}

function pairsOf(names: readonly string[], labels: Labels | undefined): string[] {
  const pairs: string[] = [];
  for (const name of names) {
    const value = labels?.[name];
    if (value !== undefined) pairs.push(pairKey(name, value));
  }
  return pairs;
}
