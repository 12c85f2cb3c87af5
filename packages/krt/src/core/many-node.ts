import { firstDifference } from "../equality.ts";
import { DerivedNode } from "./derived-node.ts";
import type { Entry } from "./entry.ts";
import { refusePromise } from "./result.ts";
import type { Row } from "./row.ts";
import { emptyKey } from "./single-node.ts";

/** Up to this many outputs of one input are searched one by one; more are put into a map first. */
const LINEAR = 8;

/** A derivation with any number of outputs per input. `Entry.output` is a list of rows or nothing. */
export class ManyNode<I, O> extends DerivedNode<I, O, Iterable<O> | undefined | null> {
  protected isNothing(result: Iterable<O> | undefined | null): boolean {
    if (result === undefined || result === null) return true;
    for (const _ of result) return false;
    return true;
  }

  protected difference(entry: Entry, result: Iterable<O> | undefined | null): string | undefined {
    const { keys, values } = this.#outputsOf(result ?? []);
    const rows = (entry.output ?? []) as Row<O>[];
    if (rows.length !== keys.length) return "";
    for (const row of rows) {
      const at = keys.indexOf(row.key);
      if (at < 0) return row.key;
      const value = values[at] as O;
      if (row.value === undefined || this.comparer.equal(row.value, value)) continue;
      const property = firstDifference(row.value, value);
      if (property !== undefined) return `${row.key}.${property}`;
    }
    return undefined;
  }

  /**
   * Computes all keys before the first change, so that a kind that throws leaves the output unchanged.
   * Rows of keys that stay are kept, those of keys that went are dropped, in this order, so that the
   * list of the entry always names the rows it owns.
   */
  protected apply(entry: Entry, result: Iterable<O> | undefined | null): boolean {
    if (result === undefined || result === null) return this.#clear(entry);
    refusePromise(result);
    const { keys, values } = this.#outputsOf(result);
    if (keys.length === 0) return this.#clear(entry);
    const former = (entry.output ?? []) as Row<O>[];
    const before = this.events.count;
    const rows: Row<O>[] = [];
    let changed = former.length !== keys.length;
    try {
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i] as string;
        const same = former[i];
        const value = values[i] as O;
        if (same !== undefined && same.key === key && same.owner === entry) {
          if (!this.comparer.equal(same.value as O, value)) this.updateRow(same, value);
          rows.push(same);
        } else {
          rows.push(this.putOutput(entry, key, value));
          changed = true;
        }
      }
      entry.output = rows;
    } catch (error) {
      entry.output = [...new Set([...rows, ...former])];
      throw error;
    }
    if (changed && former.length > 0) this.#dropMissing(entry, former, rows);
    return changed || this.events.count > before;
  }

  #clear(entry: Entry): boolean {
    if (entry.output === undefined) return false;
    this.removeOutput(entry);
    return true;
  }

  /** Keys and values in order; of several values with one key the last. */
  #outputsOf(result: Iterable<O>): { keys: string[]; values: O[] } {
    const keys: string[] = [];
    const values: O[] = [];
    let places: Map<string, number> | undefined;
    for (const value of result) {
      if (value === undefined || value === null) continue;
      const key = this.kind.key(value);
      if (key === "") throw emptyKey(this.name);
      if (places === undefined && keys.length === LINEAR) {
        places = new Map(keys.map((known, at) => [known, at]));
      }
      const place = places === undefined ? keys.indexOf(key) : (places.get(key) ?? -1);
      if (place >= 0) {
        values[place] = value;
        continue;
      }
      places?.set(key, keys.length);
      keys.push(key);
      values.push(value);
    }
    return { keys, values };
  }

  #dropMissing(entry: Entry, former: readonly Row<O>[], rows: readonly Row<O>[]): void {
    const kept = rows.length > LINEAR ? new Set(rows) : undefined;
    for (const row of former) {
      if (kept === undefined ? !rows.includes(row) : !kept.has(row)) this.dropOutput(entry, row);
    }
  }
}
