import { Observable } from "rxjs";
import type { Collection, SubscribeOptions } from "../collection.ts";
import { deepEqual } from "../equality.ts";
import type { Event } from "../event.ts";

/** Options of a stream of events. */
export type EventsOptions = Pick<SubscribeOptions, "replay" | "overflow" | "name">;

/*
 * All observables are cold: each subscription is a registration of its own with a queue of its own, and
 * ends with it. They emit when the runtime delivers, which is after the turn; what they emit together
 * belongs to one turn. They complete when the collection is disposed and never fail: failures of
 * transformations are a matter of the runtime.
 */

/** The changes of a collection, one by one, in order and without gaps; first its objects as `add` events, unless `replay` is false. */
export function events$<T>(
  collection: Collection<T>,
  options: EventsOptions = {},
): Observable<Event<T>> {
  return new Observable((observer) => {
    if (collection.disposed) {
      observer.complete();
      return undefined;
    }
    const registration = collection.subscribe((event) => observer.next(event), {
      ...options,
      onEnd: () => observer.complete(),
    });
    return () => registration.unsubscribe();
  });
}

/** The changes of a collection by turn. No batch is empty. */
export function batches$<T>(
  collection: Collection<T>,
  options: EventsOptions = {},
): Observable<readonly Event<T>[]> {
  return new Observable((observer) => {
    if (collection.disposed) {
      observer.complete();
      return undefined;
    }
    const registration = collection.subscribeBatch((events) => observer.next(events), {
      ...options,
      onEnd: () => observer.complete(),
    });
    return () => registration.unsubscribe();
  });
}

/**
 * All objects of a collection: as soon as it is synced, and again after turns that changed it. Turns that
 * follow each other faster than they are delivered show their last state only. The arrays are shared.
 */
export function list$<T>(collection: Collection<T>): Observable<readonly T[]> {
  return follow(collection, () => collection.list(), Object.is);
}

/** The object of one key, `undefined` while there is none: once synced, then whenever it is another. */
export function value$<T>(collection: Collection<T>, key: string): Observable<T | undefined> {
  return follow(collection, () => collection.get(key), deepEqual, key);
}

/** Emits what `read` gives at the first sync and after each change, of `key` if given, unless it is the same. */
function follow<T, V>(
  collection: Collection<T>,
  read: () => V,
  same: (a: V, b: V) => boolean,
  key?: string,
): Observable<V> {
  return new Observable((observer) => {
    let emitted: { readonly value: V } | undefined;
    const emit = (): void => {
      if (!collection.synced || observer.closed) return;
      const value = read();
      if (emitted !== undefined && same(emitted.value, value)) return;
      emitted = { value };
      observer.next(value);
    };
    if (collection.disposed) {
      emit();
      observer.complete();
      return undefined;
    }
    const registration = collection.subscribeBatch(
      (events) => {
        if (key === undefined || events.some((event) => event.key === key)) emit();
      },
      { replay: false, onEnd: () => observer.complete() },
    );
    if (collection.synced) emit();
    else registration.whenSynced().then(emit, () => {});
    return () => registration.unsubscribe();
  });
}
