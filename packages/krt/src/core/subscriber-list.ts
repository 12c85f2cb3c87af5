import type { Event } from "../event.ts";
import type { Buffer } from "./buffer.ts";
import type { Graph } from "./graph.ts";
import type { MutableEvent } from "./row.ts";
import type { StrictMode } from "./strict.ts";
import type { Subscription } from "./subscription.ts";

/**
 * The subscriptions of a collection, in the order of their registration.
 *
 * Invariant: `#batched` is the number of members whose handler takes batches.
 */
export class SubscriberList<T> {
  readonly #graph: Graph;
  readonly #strict: StrictMode | undefined;
  readonly #members: Subscription<T>[] = [];
  #batched = 0;

  constructor(graph: Graph, strict: StrictMode | undefined) {
    this.#graph = graph;
    this.#strict = strict;
  }

  get members(): readonly Subscription<T>[] {
    return this.#members;
  }

  add(subscription: Subscription<T>): void {
    this.#members.push(subscription);
    if (subscription.batched) this.#batched++;
  }

  /** Does nothing where it is not a member. */
  remove(subscription: Subscription<T>): void {
    const at = this.#members.indexOf(subscription);
    if (at < 0) return;
    this.#members.splice(at, 1);
    if (subscription.batched) this.#batched--;
  }

  /** Ends all of them; each removes itself from the list. */
  endAll(): void {
    for (const subscription of this.#members.slice()) subscription.unsubscribe();
  }

  /**
   * Empties the events of a turn into the queues. Handlers of batches get arrays of their own; handlers of single events
   * share one they never see. O(members).
   */
  deliver(turn: Buffer<MutableEvent<T>>): void {
    const members = this.#members;
    const { turnOf, turn: current } = this.#graph;
    if (this.#strict !== undefined) {
      for (let i = 0; i < turn.count; i++) this.#strict.shared(turn.at(i));
    }
    if (turn.count === 1 && this.#batched === 0 && turnOf === undefined) {
      const event = turn.at(0) as Event<T>;
      turn.clear();
      for (let i = 0; i < members.length; i++) members[i]?.enqueueOne(event);
      return;
    }
    const events = turn.take() as Event<T>[];
    const alone = members.length === 1;
    for (const subscription of members) {
      const own = subscription.batched && !alone ? events.slice() : events;
      turnOf?.set(own, current.number);
      subscription.enqueue(own);
    }
  }
}
