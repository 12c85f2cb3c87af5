import type { Event } from "../event.ts";

/**
 * One object of a collection.
 *
 * - `slot` is unique among the rows of the collection and stays with the row at least until the sweep at
 *   the end of the turn that deleted it, so consumers may keep arrays by slot for the whole of a turn.
 * - `value` is `undefined` in a tombstone: a deleted row. It stays in the map at least until the sweep,
 *   so that a later write of the turn meets it and both become one change, and mostly for some turns
 *   more, so that a key which comes and goes keeps its row.
 * - `event` is set from the first change in a turn to the sweep. Its `old` is the committed value,
 *   which is what readers outside of a sliced turn get.
 * - `owner` says who put the row there: the entry of a derivation, the member of a join.
 */
export class Row<T> {
  readonly key: string;
  readonly slot: number;
  value: T | undefined;
  event: MutableEvent<T> | undefined;
  owner: unknown;

  constructor(key: string, slot: number, value: T, owner: unknown) {
    this.key = key;
    this.slot = slot;
    this.value = value;
    this.event = undefined;
    this.owner = owner;
  }
}

/** An event while its turn is open. `void` means that the turn undid its own change. */
export interface MutableEvent<T> {
  type: Event<T>["type"] | "void";
  readonly key: string;
  old: T | undefined;
  new: T | undefined;
}

/** The type that fits the two values of an event. */
export function eventType(old: unknown, now: unknown): MutableEvent<unknown>["type"] {
  if (old === undefined) return now === undefined ? "void" : "add";
  return now === undefined ? "delete" : "update";
}
