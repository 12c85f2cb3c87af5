import type { Cell, WaitOptions } from "./collection.ts";
import type { TransformationContext } from "./context.ts";

/**
 * The way out for state that cannot be in the graph: transformations declare that they depend on the
 * trigger, and the code that changes the state fires it. Prefer a `cell` for state that fits in one.
 */
export interface Trigger extends Disposable {
  /** Has the run's input run again when the trigger fires. Waits until the trigger is synced. */
  depend(context: TransformationContext): void;
  /** Runs everything that depends on it again. */
  fire(): void;
  /** Declares that the state behind it is ready. Until then, what depends on it is not synced. */
  markSynced(): void;
  whenSynced(options?: WaitOptions): Promise<void>;
}

/**
 * A value that a transformation cannot read without depending on it, however it is made. Writes are as those of
 * a source: in a batch they take effect together, in a handler after it, and a transaction that fails
 * undoes them, except for what `modify` changed in place.
 */
export interface External<V> extends Disposable {
  /** The value, for a transformation, which from now on depends on it. */
  get(context: TransformationContext): V;
  /** The value, for readers outside of transformations. */
  peek(): V;
  set(value: V): void;
  /** Changes the value in place, or by what `change` returns, and runs what depends on it again. */
  modify(change: (value: V) => V | void): void;
  markSynced(): void;
}

/** The cell counts how often the trigger was fired; transformations fetch it and ignore the number. */
export function createTrigger(cell: Cell<number>): Trigger {
  return {
    depend: (context) => void context.fetch(cell),
    fire: () => cell.update((count) => (count ?? 0) + 1),
    markSynced: () => cell.markSynced(),
    whenSynced: (options) => cell.whenSynced(options),
    [Symbol.dispose]: () => cell.dispose(),
  };
}

/**
 * The value in a wrapper of its own per write, so that each write is a change, and can be undone. A class, as
 * strict mode does not freeze what instances hold: the value may be modified in place.
 */
export class Held<V> {
  readonly value: V;

  constructor(value: V) {
    this.value = value;
  }
}

/** Until the cell is in the graph, which may have to wait for the end of a sliced turn, `initial` counts. */
export function createExternal<V>(initial: Held<V>, cell: Cell<Held<V>>): External<V> {
  return {
    get: (context) => (context.fetchOne(cell) ?? initial).value,
    peek: () => (cell.value ?? initial).value,
    set: (value) => cell.set(new Held(value)),
    modify: (modification) =>
      cell.update((held = initial) => {
        const next = modification(held.value);
        return new Held(next === undefined ? held.value : next);
      }),
    markSynced: () => cell.markSynced(),
    [Symbol.dispose]: () => cell.dispose(),
  };
}
