import type { DerivedNode } from "./derived-node.ts";
import { Entry } from "./entry.ts";
import type { AnyNode } from "./node.ts";
import { Row } from "./row.ts";

/** The input of a derivation without a primary. */
export const UNIT = Object.freeze({});

/** Number of inputs processed between two checks of the clock, in sliced turns. */
const INPUTS_PER_CLOCK = 64;

/**
 * The entries of a derivation, at the slots of the primary's rows.
 *
 * Invariants: once `#loaded`, and between turns, there is exactly one entry per row of the primary, and none
 * at other slots; a derivation without a primary has one entry at slot 0. In a turn, `#taken` of the
 * primary's changes are taken in, where `#takenTurn` is that turn.
 */
export class EntryTable {
  readonly #node: DerivedNode<never, unknown>;
  readonly primary: AnyNode | undefined;
  readonly #entries: (Entry | undefined)[] = [];
  #loaded = false;
  #loading: Iterator<Row<unknown>> | undefined;
  #takenTurn = -1;
  #taken = 0;

  constructor(node: DerivedNode<never, unknown>, primary: AnyNode | undefined) {
    this.#node = node;
    this.primary = primary;
  }

  /** Turns changes of the primary into new, dirty and gone entries. False: out of time. */
  takeIn(): boolean {
    if (!this.#loaded) return this.#load();
    const { primary } = this;
    if (primary === undefined) return true;
    const { turn } = primary.graph;
    if (this.#takenTurn !== turn.number) {
      this.#takenTurn = turn.number;
      this.#taken = 0;
    }
    const { changed, events } = primary;
    for (let i = this.#taken; i < events.count; ) {
      const row: Row<unknown> = changed.at(i);
      const entry = this.#entries[row.slot];
      if (events.at(i).new === undefined) {
        if (entry !== undefined) this.#drop(entry);
      } else if (entry === undefined) {
        this.#add(row);
      } else {
        entry.mark(primary, row.key);
      }
      this.#taken = ++i;
      if (i % INPUTS_PER_CLOCK === 0 && turn.outOfTime()) return false;
    }
    return true;
  }

  /** The first time all rows of the primary are processed, regardless of what changed in this turn. */
  #load(): boolean {
    const { primary } = this;
    if (primary === undefined) {
      this.#add(new Row<unknown>("", 0, UNIT, undefined));
      this.#loaded = true;
      return true;
    }
    const { turn } = primary.graph;
    this.#loading ??= (primary.rows() as Iterable<Row<unknown>>)[Symbol.iterator]();
    for (let i = 1; ; i++) {
      const next = this.#loading.next();
      if (next.done === true) break;
      if (primary.isPresent(next.value)) this.#add(next.value);
      if (i % INPUTS_PER_CLOCK === 0 && turn.outOfTime()) return false;
    }
    this.#loading = undefined;
    this.#loaded = true;
    this.#takenTurn = turn.number;
    this.#taken = primary.events.count;
    return true;
  }

  #add(row: Row<unknown>): void {
    const entry = new Entry(this.#node, row);
    this.#entries[row.slot] = entry;
    entry.mark(this.primary, row.key);
  }

  #drop(entry: Entry): void {
    this.#entries[entry.input.slot] = undefined;
    this.#node.endEntry(entry);
  }

  /** One above the highest slot of an input. */
  get slots(): number {
    return this.#entries.length;
  }

  at(slot: number): Entry | undefined {
    return this.#entries[slot];
  }

  of(key: string): Entry | undefined {
    if (this.primary === undefined) return this.#entries[0];
    const row = this.primary.rowAt(key) as Row<unknown> | undefined;
    return row === undefined ? undefined : this.#entries[row.slot];
  }

  *[Symbol.iterator](): IterableIterator<Entry> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }

  clear(): void {
    this.#entries.length = 0;
  }
}
