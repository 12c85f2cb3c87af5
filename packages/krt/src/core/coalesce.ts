import type { Event } from "../event.ts";
import { eventType } from "./row.ts";

/** One event per key with the same effect, in the order of each key's first event. */
export function coalesceEvents<T>(
  batches: readonly (readonly Event<T>[] | Event<T>)[],
): Event<T>[] {
  const merged = new Map<string, { old: T | undefined; now: T | undefined }>();
  for (const batch of batches) {
    for (const event of Array.isArray(batch)
      ? (batch as readonly Event<T>[])
      : [batch as Event<T>]) {
      const known = merged.get(event.key);
      if (known === undefined) merged.set(event.key, { old: event.old, now: event.new });
      else known.now = event.new;
    }
  }
  const events: Event<T>[] = [];
  for (const [key, { old, now }] of merged) {
    const type = eventType(old, now);
    if (type !== "void") events.push({ type, key, old, new: now } as Event<T>);
  }
  return events;
}
