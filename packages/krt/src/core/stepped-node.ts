import { RowNode } from "./row-node.ts";

/**
 * A node whose work of a turn is a generator. It yields between keys, where it may be stopped: when time
 * is up, or when an edge it created raised it above nodes that have yet to be processed.
 */
export abstract class SteppedNode<T> extends RowNode<T> {
  #work: Generator<void, void> | undefined;

  protected abstract work(): Generator<void, void>;

  protected compute(): boolean {
    const { level, graph } = this;
    this.#work ??= this.work();
    while (this.#advance(this.#work)) {
      if (this.level !== level && graph.turn.queue.hasUpTo(this.level - 1)) return false;
      if (graph.turn.outOfTime()) return false;
    }
    this.#work = undefined;
    return true;
  }

  /** Whether there is more. Work that throws is over: the next turn begins its own. */
  #advance(work: Generator<void, void>): boolean {
    try {
      return work.next().done !== true;
    } catch (error) {
      this.#work = undefined;
      throw error;
    }
  }
}

/** How many keys are worked off between two yields. */
export const KEYS_PER_YIELD = 64;
