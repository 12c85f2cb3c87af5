import type { Collection } from "./collection.ts";
import type { TransformationContext } from "./context.ts";
import { Query } from "./core/query.ts";
import { nodeOf } from "./core/tracker.ts";
import type { Filter, FilterSpec } from "./filter.ts";
import type { KindCapability } from "./kind.ts";

/**
 * Fetches where there is a context, and otherwise reads once, without tracking anything: for functions
 * that are used in transformations and outside of them.
 */
export function fetchOrList<T, Tr extends KindCapability>(
  context: TransformationContext | undefined,
  collection: Collection<T, Tr>,
  ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
): readonly T[] {
  if (context !== undefined) return context.fetch(collection, ...filters);
  if (filters.length === 0) return collection.list();
  const specs = filters as unknown as readonly FilterSpec[];
  return new Query<T>(nodeOf(collection), specs, undefined, undefined).read();
}
