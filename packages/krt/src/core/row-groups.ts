import { LazyMap } from "./lazy-map.ts";
import type { Row } from "./row.ts";
import { sameKey } from "./store-key.ts";

/** A group: its only row, or all its rows in no order. */
type Members<T> = Row<T> | Row<T>[];

const NO_ROWS: readonly never[] = [];

/**
 * Rows by key, each under none, one or several keys. Entering and leaving a group take the same time
 * however large it is, also when one row does nothing else.
 *
 * Invariant: for a row in the group of `key`, its place there is `#places[slot]`, or, when the row has a
 * list of keys, the same position of that list of places. So the last row of a group can fill the gap
 * that another leaves.
 */
export class RowGroups<T> {
  readonly #groups = new LazyMap<unknown, Members<T>>();
  /** Keys of each row: nothing, one key, or a list. */
  readonly #keys: unknown[] = [];
  readonly #places: (number | number[] | undefined)[] = [];

  get size(): number {
    return this.#groups.size;
  }

  groupKeys(): IterableIterator<unknown> {
    return this.#groups.keys();
  }

  keysOf(row: Row<T>): unknown {
    return this.#keys[row.slot];
  }

  rowsAt(key: unknown): readonly Row<T>[] {
    const members = this.#groups.get(key);
    if (members === undefined) return NO_ROWS;
    return Array.isArray(members) ? members : [members];
  }

  countAt(key: unknown): number {
    const members = this.#groups.get(key);
    if (members === undefined) return 0;
    return Array.isArray(members) ? members.length : 1;
  }

  /** Puts a row, which is in no group, under its keys. */
  enter(row: Row<T>, keys: unknown): void {
    this.#keys[row.slot] = keys;
    if (Array.isArray(keys)) {
      this.#places[row.slot] = keys.map((key) => this.#append(key, row));
    } else if (keys !== undefined) {
      this.#places[row.slot] = this.#append(keys, row);
    }
  }

  /** Takes a row out of all its groups. */
  leave(row: Row<T>): void {
    const keys = this.#keys[row.slot];
    const places = this.#places[row.slot];
    this.#keys[row.slot] = undefined;
    this.#places[row.slot] = undefined;
    if (Array.isArray(keys)) {
      for (const [i, key] of keys.entries()) this.#remove(key, (places as number[])[i] as number);
    } else if (keys !== undefined) {
      this.#remove(keys, places as number);
    }
  }

  #append(key: unknown, row: Row<T>): number {
    const members = this.#groups.get(key);
    if (members === undefined) {
      this.#groups.set(key, row);
      return 0;
    }
    if (!Array.isArray(members)) {
      this.#groups.set(key, [members, row]);
      return 1;
    }
    return members.push(row) - 1;
  }

  #remove(key: unknown, place: number): void {
    const members = this.#groups.get(key);
    if (!Array.isArray(members) || members.length === 1) {
      this.#groups.delete(key);
      return;
    }
    const last = members.pop() as Row<T>;
    if (place === members.length) return;
    members[place] = last;
    const places = this.#places[last.slot];
    if (!Array.isArray(places)) {
      this.#places[last.slot] = place;
      return;
    }
    const keys = this.#keys[last.slot] as unknown[];
    places[keys.findIndex((own) => sameKey(own, key))] = place;
  }
}
