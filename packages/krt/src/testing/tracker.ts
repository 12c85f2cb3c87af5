import type { Collection, HandlerRegistration, SubscribeOptions } from "../collection.ts";
import type { Event } from "../event.ts";

/** A handler that records everything it gets. */
export interface EventTracker<T> extends Disposable {
  readonly registration: HandlerRegistration;
  /** All events since the last {@link EventTracker.take}, oldest first. */
  readonly events: readonly Event<T>[];
  /** The same, by turn. */
  readonly batches: readonly (readonly Event<T>[])[];
  /** The recorded events as `type/key`, and forgets them. */
  take(): string[];
  /** As {@link EventTracker.take}, sorted, for events whose order is not defined. */
  takeSorted(): string[];
}

/** Records the events of a collection. */
export function trackEvents<T>(
  collection: Collection<T>,
  options?: SubscribeOptions,
): EventTracker<T> {
  let batches: (readonly Event<T>[])[] = [];
  const registration = collection.subscribeBatch((events) => {
    batches.push(events);
  }, options);
  const take = (): string[] => {
    const taken = batches.flat().map((event) => `${event.type}/${event.key}`);
    batches = [];
    return taken;
  };
  return {
    registration,
    get events() {
      return batches.flat();
    },
    get batches() {
      return batches;
    },
    take,
    takeSorted: () => take().sort(),
    [Symbol.dispose]: () => registration.unsubscribe(),
  };
}
