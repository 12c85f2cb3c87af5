import type { Graph } from "./graph.ts";

/** What the list of subscriptions with something to do needs of each. */
interface Deliverable {
  waiting: boolean;
  run(deadline: number): void;
}

/**
 * Drains the queues of handlers: one pass per microtask while there is time, then one per turn of the
 * event loop. Subscriptions take turns in the order in which they got something to do.
 *
 * Invariant: a subscription with deliverable items is in `#ready` (and `waiting`) or is running, and
 * while `#ready` is not empty a pass is scheduled or running.
 */
export class Delivery {
  readonly #graph: Graph;
  #ready: Deliverable[] = [];
  #scheduled = false;
  #draining = false;
  /** Depth of handler calls on the stack. Writes made in them wait. */
  onStack = 0;
  /** Handlers whose promise is pending. */
  busy = 0;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  get idle(): boolean {
    return this.#ready.length === 0 && !this.#draining;
  }

  add(subscription: Deliverable): void {
    if (subscription.waiting) return;
    subscription.waiting = true;
    this.#ready.push(subscription);
  }

  /** Sees to it that what was added gets delivered. Called when the turn is complete, not during it. */
  kick(): void {
    if (this.#scheduled || this.#draining) return;
    if (this.#ready.length === 0) {
      this.#graph.checkIdle();
      return;
    }
    this.#scheduled = true;
    this.#graph.options.scheduler.microtask(this.#drain);
  }

  readonly #drain = (): void => {
    this.#scheduled = false;
    if (this.#draining) return;
    const graph = this.#graph;
    // Handlers run between turns: none is to be made while one is on the stack.
    graph.writes.pay();
    this.#draining = true;
    const deadline = graph.now() + graph.options.sliceMs;
    while (this.#ready.length > 0) {
      const round = this.#ready;
      this.#ready = [];
      for (let i = 0; i < round.length; i++) {
        const subscription = round[i] as Deliverable;
        subscription.waiting = false;
        subscription.run(deadline);
        if ((i & 7) === 7 && i + 1 < round.length && graph.now() >= deadline) {
          this.#ready = [...round.slice(i + 1), ...this.#ready];
          break;
        }
      }
      if (graph.now() >= deadline) break;
    }
    this.#draining = false;
    if (this.#ready.length > 0) {
      this.#scheduled = true;
      graph.options.scheduler.macrotask(this.#drain);
    } else {
      graph.checkIdle();
    }
  };
}
