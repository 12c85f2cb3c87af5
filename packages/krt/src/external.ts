import type { Cell, WaitOptions } from "./collection.ts";
import type { TransformationContext } from "./context.ts";

/**
 * The way out for state that cannot be in the graph: transformations say that they depend on the
 * trigger, and whoever changes the state fires it. Whoever can, keeps the state in a `cell` instead.
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

/** A value outside the graph together with its trigger: it cannot be read without depending on it. */
export interface External<V> extends Disposable {
  /** The value, for a transformation, which from now on depends on it. */
  get(context: TransformationContext): V;
  /** The value, for everybody else. */
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

export function createExternal<V>(initial: V, trigger: Trigger): External<V> {
  let value = initial;
  return {
    get: (context) => {
      trigger.depend(context);
      return value;
    },
    peek: () => value,
    set: (next) => {
      value = next;
      trigger.fire();
    },
    modify: (change) => {
      const next = change(value);
      if (next !== undefined) value = next;
      trigger.fire();
    },
    markSynced: () => trigger.markSynced(),
    [Symbol.dispose]: () => trigger[Symbol.dispose](),
  };
}
