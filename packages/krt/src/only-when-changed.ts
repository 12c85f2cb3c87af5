import type { BatchHandler } from "./collection.ts";
import { deepEqual, type Equals } from "./equality.ts";

/**
 * A batch handler that passes on adds, deletes, and those updates that change what `project` makes of
 * the object. A batch of which nothing is left is not passed on.
 */
export function onlyWhenChanged<T, P>(
  project: (object: T) => P,
  handler: BatchHandler<T>,
  equals: Equals<P> = deepEqual,
): BatchHandler<T> {
  return (events) => {
    const relevant = events.filter(
      (event) => event.type !== "update" || !equals(project(event.old), project(event.new)),
    );
    return relevant.length === 0 ? undefined : handler(relevant);
  };
}
