import type { Collection } from "../collection.ts";
import type { PartialProjection, TransformationContext } from "../context.ts";
import { nodeOf } from "../core/tracker.ts";
import { KrtError } from "../errors.ts";
import { fetchOrList } from "../fetch-or-list.ts";
import type { Filter, FilterSpec } from "../filter.ts";
import { describeFilter } from "../inspect/describe-filter.ts";
import type { KindCapability } from "../kind.ts";
import type { Scope } from "../scope.ts";

/** One fetch of a transformation under test. */
export interface RecordedFetch {
  readonly collection: string;
  /** The filters in words. */
  readonly filters: string;
  readonly matches: number;
}

/** A context with which a transformation can be called by hand. */
export interface TestContext extends TransformationContext {
  /** What was fetched, in order. */
  readonly fetches: readonly RecordedFetch[];
  readonly discarded: boolean;
}

/**
 * Makes a context for calling a transformation directly: it reads the collections as they are and depends
 * on nothing. `scope` is what transformations that make collections get.
 */
export function createTestContext(scope?: Scope): TestContext {
  const fetches: RecordedFetch[] = [];
  const abort = new AbortController();
  let discarded = false;
  const fetch = <T, Tr extends KindCapability>(
    collection: Collection<T, Tr>,
    ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
  ): readonly T[] => {
    const found = fetchOrList(undefined, collection, ...filters);
    const words = (filters as unknown as readonly FilterSpec[]).map(describeFilter).join(" and ");
    fetches.push({ collection: nodeOf(collection).name, filters: words, matches: found.length });
    return found;
  };
  return {
    fetches,
    get discarded() {
      return discarded;
    },
    fetch,
    fetchOne: (collection, ...filters) => {
      const found = fetch(collection, ...filters);
      if (found.length <= 1) return found[0];
      throw new KrtError("KRT_NOT_ONE", `fetchOne matched ${found.length} objects`);
    },
    fetchPartial: <T, Tr extends KindCapability, P>(
      collection: Collection<T, Tr>,
      projection: PartialProjection<T, P>,
      ...filters: readonly Filter<NoInfer<T>, NoInfer<Tr>>[]
    ) => fetch(collection, ...filters).map((object) => projection.project(object)),
    discard: () => {
      discarded = true;
    },
    scope: () => {
      if (scope === undefined) throw new KrtError("KRT_CONTEXT", "this context has no scope");
      return scope.scope();
    },
    signal: abort.signal,
  };
}
